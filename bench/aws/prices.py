"""What the hosts cost, estimated before anything is made.

The table is for us-east-1, Linux, on demand, in US dollars, as known in November 2026
from what others have published; nobody here asked AWS. Prices differ by region and change: the page
to check is named beside every estimate, and --price overrides the table. A spot
instance costs less than this; what passes between hosts of one zone by private address costs nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.aws.choices import NotPossible, Value, instance_types

NOTED = "November 2026"
REGION = "us-east-1"
PAGE = "https://aws.amazon.com/ec2/pricing/on-demand/"

HOURLY = {
    "c5.large": 0.085,
    "c5.xlarge": 0.17,
    "c5.2xlarge": 0.34,
    "c5.4xlarge": 0.68,
    "c5.9xlarge": 1.53,
}
DISK_GIGABYTE_MONTH = 0.08
PUBLIC_ADDRESS_HOUR = 0.005
HOURS_A_MONTH = 730


@dataclass(frozen=True)
class Estimate:
    """What is to be paid while the hosts run."""

    hosts_hour: float
    disks_hour: float
    addresses_hour: float
    minutes: int
    region: str
    spot: bool

    @property
    def hour(self) -> float:
        """Everything, for an hour."""
        return self.hosts_hour + self.disks_hour + self.addresses_hour

    @property
    def longest(self) -> float:
        """Everything, until the hosts end themselves."""
        return self.hour * self.minutes / 60

    def text(self) -> str:
        """For the operator."""
        lines = [
            f"Estimated cost: {self.hour:.2f} USD an hour (hosts {self.hosts_hour:.3f}, disks "
            f"{self.disks_hour:.3f}, public addresses {self.addresses_hour:.3f});",
            f"  {self.longest:.2f} USD if nothing but their timer ends them, after {self.minutes} minutes.",
            f"  On-demand prices of {REGION} as noted in {NOTED}, without tax: check {PAGE}",
        ]
        if self.region != REGION:
            lines.append(
                f"  The hosts will be in {self.region}, where prices differ: give yours by --price TYPE=USD."
            )
        if self.spot:
            lines.append("  Spot instances cost less than this.")
        return "\n".join(lines)


def overridden(given: list[str]) -> dict[str, float]:
    """The table with the operator's own prices, given as TYPE=USD-an-hour."""
    table = dict(HOURLY)
    for assignment in given:
        kind, _, price = assignment.partition("=")
        try:
            table[kind] = float(price)
        except ValueError:
            raise NotPossible("--price takes TYPE=USD, such as c5.4xlarge=0.68") from None
    return table


def estimate(variables: Mapping[str, Value], table: Mapping[str, float]) -> Estimate:
    """The cost of hosts with these variables."""
    types = instance_types(variables).values()
    unknown = sorted({kind for kind in types if kind not in table})
    if unknown:
        raise NotPossible(
            f"no price is known for {', '.join(unknown)}: give it by --price TYPE=USD, from {PAGE}"
        )
    hosts = len(types)
    return Estimate(
        hosts_hour=sum(table[kind] for kind in types),
        disks_hour=hosts * float(variables["disk_gigabytes"]) * DISK_GIGABYTE_MONTH / HOURS_A_MONTH,
        addresses_hour=hosts * PUBLIC_ADDRESS_HOUR,
        minutes=int(variables["minutes"]),
        region=str(variables["region"]),
        spot=bool(variables["spot"]),
    )
