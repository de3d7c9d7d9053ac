# What runs this. The state stays on the operator's machine, in .state/, which git ignores: three hosts that
# live for an afternoon need no shared state.

terraform {
  required_version = ">= 1.5, < 2.0"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7.0"
    }
  }

  backend "local" {
    path = ".state/terraform.tfstate"
  }
}

provider "aws" {
  region = var.region

  default_tags {
    tags = {
      Project = "pgboost-bench"
      Name    = var.name
    }
  }
}
