# One network, closed except for ssh from the operator: the hosts reach each other by their private addresses.

data "aws_ec2_instance_type_offerings" "zones" {
  for_each      = toset([var.server_type, var.store_type, var.client_type])
  location_type = "availability-zone"

  filter {
    name   = "instance-type"
    values = [each.value]
  }
}

locals {
  zones_with_all = sort(setintersection([for offered in data.aws_ec2_instance_type_offerings.zones : toset(offered.locations)]...))
  zone           = var.availability_zone != null ? var.availability_zone : local.zones_with_all[0]
}

resource "aws_vpc" "bench" {
  #checkov:skip=CKV2_AWS_11:flow logs cost money and a role, for a network that lives for hours and serves nobody
  cidr_block           = "10.22.0.0/24"
  enable_dns_support   = true
  enable_dns_hostnames = false
}

# Every VPC has this group; empty, it lets nothing in or out for whoever forgets to name another.
resource "aws_default_security_group" "locked" {
  vpc_id = aws_vpc.bench.id
}

resource "aws_subnet" "bench" {
  vpc_id            = aws_vpc.bench.id
  cidr_block        = aws_vpc.bench.cidr_block
  availability_zone = local.zone
  # The hosts ask for public addresses themselves.
  map_public_ip_on_launch = false
}

resource "aws_internet_gateway" "bench" {
  vpc_id = aws_vpc.bench.id
}

resource "aws_route_table" "bench" {
  vpc_id = aws_vpc.bench.id

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.bench.id
  }
}

resource "aws_route_table_association" "bench" {
  subnet_id      = aws_subnet.bench.id
  route_table_id = aws_route_table.bench.id
}

resource "aws_security_group" "bench" {
  name_prefix = "${var.name}-"
  description = "The hosts of the comparison, and ssh from its operator"
  vpc_id      = aws_vpc.bench.id
}

resource "aws_vpc_security_group_ingress_rule" "each_other" {
  security_group_id            = aws_security_group.bench.id
  description                  = "everything between the hosts"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.bench.id
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  security_group_id = aws_security_group.bench.id
  description       = "ssh from the operator"
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
  cidr_ipv4         = var.caller_cidr
}

resource "aws_vpc_security_group_egress_rule" "each_other" {
  security_group_id            = aws_security_group.bench.id
  description                  = "everything between the hosts"
  ip_protocol                  = "-1"
  referenced_security_group_id = aws_security_group.bench.id
}

# The package registries, whose addresses nobody can list.
resource "aws_vpc_security_group_egress_rule" "registries" {
  for_each          = { http = 80, https = 443 }
  security_group_id = aws_security_group.bench.id
  description       = "package registries, by ${each.key}"
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
  cidr_ipv4         = "0.0.0.0/0"
}
