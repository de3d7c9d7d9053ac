# The three hosts. One that is forgotten ends itself: user data arms a shutdown, and shutting down terminates.

data "aws_ami" "debian" {
  owners      = [var.image_owner]
  most_recent = false

  filter {
    name   = "name"
    values = [var.image_name]
  }
}

resource "aws_key_pair" "operator" {
  key_name_prefix = "${var.name}-"
  public_key      = file(pathexpand(var.public_key_file))
}

resource "aws_placement_group" "bench" {
  count    = var.placement_group ? 1 : 0
  name     = var.name
  strategy = "cluster"
}

locals {
  types = {
    server = var.server_type
    store  = var.store_type
    client = var.client_type
  }
}

resource "aws_instance" "host" {
  #checkov:skip=CKV_AWS_88:the operator reaches the hosts by ssh at public addresses; a bastion would be a fourth host
  #checkov:skip=CKV2_AWS_41:the hosts call nothing of AWS, so they get no role
  #checkov:skip=CKV_AWS_126:the harness measures on the hosts themselves, ten times finer than detailed monitoring
  for_each = local.types

  ami                         = data.aws_ami.debian.id
  instance_type               = each.value
  subnet_id                   = aws_subnet.bench.id
  vpc_security_group_ids      = [aws_security_group.bench.id]
  associate_public_ip_address = true
  key_name                    = aws_key_pair.operator.key_name
  placement_group             = var.placement_group ? aws_placement_group.bench[0].name : null
  ebs_optimized               = true

  instance_initiated_shutdown_behavior = "terminate"
  user_data_replace_on_change          = true
  user_data = templatefile("${path.module}/first_boot.sh.tftpl", {
    role    = each.key
    minutes = var.minutes
  })

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_type           = "gp3"
    volume_size           = var.disk_gigabytes
    encrypted             = true
    delete_on_termination = true
  }

  dynamic "instance_market_options" {
    for_each = var.spot ? [1] : []

    content {
      market_type = "spot"

      spot_options {
        spot_instance_type             = "one-time"
        instance_interruption_behavior = "terminate"
      }
    }
  }

  tags        = { Name = "${var.name}-${each.key}" }
  volume_tags = { Project = "pgboost-bench", Name = "${var.name}-${each.key}" }
}
