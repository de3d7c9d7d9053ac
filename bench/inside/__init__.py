"""What predictions cost inside the database: measured in one run on one machine, and recorded."""
