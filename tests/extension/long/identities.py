"""A model of the registry outside the server: the privileges of roles, and the rows that they read.

It knows two kinds of time. Rows (names, versions, aliases) are those of a snapshot, a copy of `Rows`.
Privileges are those of the newest commit, by a model's `uid`, which no name and no other model shares.
"""

from copy import deepcopy
from dataclasses import dataclass, field

# SQLSTATEs.
MISSING, DENIED, IN_USE, EXISTS, NOT_READY, SERIALIZATION, DEPENDENTS, READ_ONLY = (
    "42704", "42501", "55006", "42710", "55000", "40001", "2BP01", "25006",
)  # fmt: skip
EXTENSION_OWNER = "postgres"


class Refused(Exception):
    """An error of the server, by its SQLSTATE."""


@dataclass
class Version:
    """A version, which answers its value for every row."""

    value: int
    baseline_rows: int = 0


@dataclass
class Model:
    """A row of `model`, with what else only its owner changes."""

    uid: int
    versions: dict[int, Version] = field(default_factory=dict)
    aliases: dict[str, int] = field(default_factory=dict)
    deployed: int | None = None
    # Versions in the order of their deployments, each with the place of the one that a rollback goes back to.
    history: list[tuple[int, int | None]] = field(default_factory=list)
    last: int = 0
    changes: int = 0

    def version(self, wanted: int | str | None) -> int:
        """The version that the part of a reference after the name means."""
        if wanted is None:
            if self.deployed is None:
                raise Refused(NOT_READY)
            return self.deployed
        if isinstance(wanted, str):
            if wanted not in self.aliases:
                raise Refused(MISSING)
            return self.aliases[wanted]
        return wanted

    def deploy(self, version: int) -> None:
        """Makes a version the deployed one, and remembers it."""
        earlier = None
        if self.history:
            before, earlier = self.history[-1]
            earlier = earlier if before == version else len(self.history) - 1
        self.history.append((version, earlier))
        self.deployed = version

    def roll_back(self) -> int:
        """Deploys the version before the present one; its number."""
        earlier = self.history[-1][1] if self.history else None
        if earlier is None or self.history[earlier][0] not in self.versions:
            raise Refused(NOT_READY)
        self.history.append(self.history[earlier])
        self.deployed = self.history[-1][0]
        return self.deployed


@dataclass
class Privileges:
    """Who owns a model, who else may predict with it, and who of these may inspect it."""

    owner: str
    granted: set[str] = field(default_factory=set)
    inspecting: set[str] = field(default_factory=set)


Rows = dict[str, Model]


@dataclass
class Registry:
    """The newest state: rows by name, privileges by uid, and the counters of each version."""

    rows: Rows = field(default_factory=dict)
    privileges: dict[int, Privileges] = field(default_factory=dict)
    counted: dict[tuple[int, int], int] = field(default_factory=dict)
    roles: set[str] = field(default_factory=set)
    next_uid: int = 0
    losses: int = 0

    def snapshot(self) -> Rows:
        """The rows that a snapshot taken now sees."""
        return deepcopy(self.rows)

    # Reading.

    def may_predict(self, user: str, uid: int) -> bool:
        """Returns whether a user may now predict with a model, which may have been dropped."""
        if user == EXTENSION_OWNER:
            return True
        found = self.privileges.get(uid)
        return found is not None and (user == found.owner or bool({user, "public"} & found.granted))

    def may_inspect(self, user: str, uid: int) -> bool:
        """Returns whether a user may now see values of a model's training data."""
        found = self.privileges.get(uid)
        given = found is not None and bool({user, "public"} & found.inspecting)
        return given or self.owns(user, uid)

    def owns(self, user: str, uid: int) -> bool:
        """Returns whether a user now owns a model."""
        found = self.privileges.get(uid)
        return user == EXTENSION_OWNER or (found is not None and user == found.owner)

    def owner(self, uid: int) -> str:
        """The owner that views show."""
        found = self.privileges.get(uid)
        return found.owner if found else EXTENSION_OWNER

    def read(
        self, rows: Rows, user: str, name: str, wanted: int | str | None, *, as_owner: bool = False
    ) -> tuple[Model, int]:
        """The model and the version that a user reads by a reference under a snapshot."""
        if name not in rows:
            raise Refused(MISSING)
        model = rows[name]
        if not (self.owns if as_owner else self.may_predict)(user, model.uid):
            raise Refused(DENIED)
        version = model.version(wanted)
        if version not in model.versions:
            raise Refused(MISSING)
        return model, version

    # Writing, by what is committed now.

    def _owned(self, user: str, name: str) -> Model:
        if name not in self.rows:
            raise Refused(MISSING)
        if not self.owns(user, self.rows[name].uid):
            raise Refused(DENIED)
        return self.rows[name]

    def load(self, user: str, name: str, value: int, deploy: bool) -> int:
        """A new version, of a new model where there is none of the name; its number."""
        if name in self.rows:
            model = self._owned(user, name)
        else:
            self.next_uid += 1
            model = self.rows[name] = Model(self.next_uid)
            self.privileges[model.uid] = Privileges(user)
        model.last += 1
        model.changes += 1
        model.versions[model.last] = Version(value)
        self.counted[model.uid, model.last] = 0
        if deploy:
            model.deploy(model.last)
        return model.last

    def deploy(self, user: str, name: str, wanted: int | str) -> None:
        """deploy_model."""
        model = self._owned(user, name)
        version = model.version(wanted)
        if version not in model.versions:
            raise Refused(MISSING)
        model.deploy(version)
        model.changes += 1

    def rollback(self, user: str, name: str) -> int:
        """rollback_model."""
        model = self._owned(user, name)
        version = model.roll_back()
        model.changes += 1
        return version

    def set_alias(self, user: str, name: str, version: int, alias: str) -> None:
        """set_alias, of a version by its number."""
        model = self._owned(user, name)
        if version not in model.versions:
            raise Refused(MISSING)
        model.aliases[alias] = version
        model.changes += 1

    def drop_alias(self, user: str, name: str, alias: str) -> None:
        """drop_alias."""
        model = self._owned(user, name)
        if alias not in model.aliases:
            raise Refused(MISSING)
        del model.aliases[alias]
        model.changes += 1

    def set_baseline(self, user: str, name: str, version: int, rows: int) -> None:
        """set_baseline, of that many rows."""
        if name in self.rows and not self.may_predict(user, self.rows[name].uid):
            raise Refused(DENIED)
        if name in self.rows and version not in self.rows[name].versions:
            raise Refused(MISSING)
        model = self._owned(user, name)
        model.versions[version].baseline_rows = rows
        model.changes += 1

    def rename(self, user: str, name: str, new_name: str) -> None:
        """rename_model."""
        model = self._owned(user, name)
        if new_name in self.rows:
            raise Refused(EXISTS)
        del self.rows[name]
        self.rows[new_name] = model
        model.changes += 1

    def drop(self, user: str, name: str) -> None:
        """drop_model, of the model."""
        model = self._owned(user, name)
        del self.rows[name], self.privileges[model.uid]

    def drop_version(self, user: str, name: str, version: int) -> None:
        """drop_model, of a version."""
        model = self._owned(user, name)
        in_use = version in (model.deployed, *model.aliases.values())
        if in_use or list(model.versions) == [version]:
            raise Refused(IN_USE)
        if version not in model.versions:
            raise Refused(MISSING)
        del model.versions[version]
        model.changes += 1

    def _known(self, role: str) -> None:
        if role != "public" and role not in self.roles:
            raise Refused(MISSING)

    def grant(self, user: str, name: str, role: str, privilege: str) -> None:
        """grant_model, in which inspect includes predict."""
        self._known(role)
        model = self._owned(user, name)
        found = self.privileges[model.uid]
        found.granted.add(role)
        if privilege == "inspect":
            found.inspecting.add(role)
        model.changes += 1

    def revoke(self, user: str, name: str, role: str, privilege: str) -> None:
        """revoke_model, in which predict includes inspect."""
        self._known(role)
        model = self._owned(user, name)
        found = self.privileges[model.uid]
        found.inspecting.discard(role)
        if privilege == "predict":
            found.granted.discard(role)
        model.changes += 1

    def set_owner(self, user: str, name: str, role: str) -> None:
        """set_model_owner."""
        if name in self.rows:
            self._owned(user, name)
        else:
            raise Refused(MISSING)
        self._known(role)
        if user not in (EXTENSION_OWNER, role):
            raise Refused(DENIED)
        model = self.rows[name]
        self.privileges[model.uid].owner = role
        model.changes += 1

    # Roles.

    def drop_owned(self, role: str) -> None:
        """DROP OWNED BY: the role loses its objects and its privileges."""
        self.losses += 1
        for found in self.privileges.values():
            found.granted.discard(role)
            found.inspecting.discard(role)
            if found.owner == role:
                found.owner = EXTENSION_OWNER

    def drop_role(self, role: str) -> None:
        """DROP ROLE, of a role that has nothing but models."""
        if role not in self.roles:
            raise Refused(MISSING)
        if any(role in (found.owner, *found.granted) for found in self.privileges.values()):
            raise Refused(DEPENDENTS)
        self.roles.discard(role)
