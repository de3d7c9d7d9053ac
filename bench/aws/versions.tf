# Versions of Terraform and its providers. The state stays on the operator's machine, in .state/, which git
# ignores: three short-lived hosts need no shared state.

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
