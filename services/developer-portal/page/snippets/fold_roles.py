def fold_roles(result: dict) -> dict[str, bool | None]:
    """The verdict on each role of a result: True held, False not held, None could not be read.

    None is not a "no": leave such a role as it is. Several rules may name one role. It is held if any of them is
    granted, None if none is and any could not be read, and otherwise not held. Of a check with
    onUndetermined "deny", pass {"roles": …, "errors": []}: there a rule that could not be read is a denial.
    """
    # An error about a sign-in names a wallet and no role.
    held = {error["roleId"]: None for error in result["errors"] if "roleId" in error}
    for role in result["roles"]:
        if role["granted"] or role["id"] not in held:
            held[role["id"]] = role["granted"]
    return held
