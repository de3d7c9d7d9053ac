# Read by bench/aws/run.

output "topology" {
  description = "The hosts in the form that bench/run --topology takes, except for the ssh configuration, which the operator's machine adds."
  value = {
    name = "aws"
    hosts = {
      for role, host in aws_instance.host : role => {
        kind    = "ssh"
        reach   = "${var.image_user}@${host.public_ip}"
        address = host.private_ip
      }
    }
  }
}

output "placed" {
  description = "What the results are to say of the place."
  value = {
    region          = var.region
    zone            = local.zone
    image           = data.aws_ami.debian.name
    types           = local.types
    placement_group = var.placement_group
    spot            = var.spot
  }
}

output "minutes" {
  description = "After so many minutes a host ends itself."
  value       = var.minutes
}
