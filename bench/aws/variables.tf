# Everything that a reader may want otherwise. bench/aws/run asks for the two without a default.

variable "caller_cidr" {
  description = "Who may connect by ssh: the operator's address as a network, such as 203.0.113.7/32."
  type        = string

  validation {
    condition     = can(cidrnetmask(var.caller_cidr)) && try(tonumber(split("/", var.caller_cidr)[1]) >= 24, false)
    error_message = "Must be an IPv4 network of 256 addresses or fewer, such as 203.0.113.7/32: never the whole Internet."
  }
}

variable "public_key_file" {
  description = "The file of the operator's public ssh key."
  type        = string

  validation {
    condition     = can(regex("^(ssh-|ecdsa-)", file(pathexpand(var.public_key_file))))
    error_message = "Must be a file with a public key of OpenSSH; a private key is not to leave the operator's machine."
  }
}

variable "name" {
  description = "In every tag, so that two of these can exist at the same time."
  type        = string
  default     = "pgboost-bench"
}

variable "region" {
  description = "Where the hosts are. That of 2022 was not published."
  type        = string
  default     = "us-east-1"
}

variable "availability_zone" {
  description = "Of the one subnet; null: the first zone of the region that has every instance type."
  type        = string
  default     = null
}

variable "server_type" {
  description = "Of the host with PostgreSQL, PgBouncer and Gunicorn."
  type        = string
  default     = "c5.4xlarge"
}

variable "store_type" {
  description = "Of the host with Redis."
  type        = string
  default     = "c5.large"
}

variable "client_type" {
  description = "Of the host with the load generators."
  type        = string
  default     = "c5.large"
}

variable "placement_group" {
  description = "Whether the hosts stand close together; not every instance type can (the t types cannot)."
  type        = bool
  default     = true
}

variable "spot" {
  description = "Whether to take spot instances: cheaper, and gone when another pays more, with the run."
  type        = bool
  default     = false
}

variable "disk_gigabytes" {
  description = "Of each host's root disk."
  type        = number
  default     = 30

  validation {
    condition     = var.disk_gigabytes >= 16
    error_message = "The build of the extensions and a table of ten million rows need 16 GB."
  }
}

variable "image_name" {
  description = "The exact name of a Debian 12 image for amd64; its owner is Debian's account."
  type        = string
  default     = "debian-12-amd64-20260923-2610"
}

variable "image_owner" {
  description = "The account of the image: Debian's, https://wiki.debian.org/Cloud/AmazonEC2Image."
  type        = string
  default     = "136693071363"
}

variable "image_user" {
  description = "Whom the image lets in by ssh."
  type        = string
  default     = "admin"
}

variable "minutes" {
  description = "After so many minutes a host ends itself, counted from its start or from the last `bench`."
  type        = number
  default     = 240

  validation {
    condition     = var.minutes >= 30 && var.minutes <= 1440 && floor(var.minutes) == var.minutes
    error_message = "Must be whole minutes from 30 to 1440."
  }
}
