#!/bin/sh
# Makes the users of MongoDB that the services have, or gives those that there are the passwords that are set now.
# The image runs it when the volume is made; deploy/README.md says how to run it by hand.
mongosh --quiet --username "$MONGO_INITDB_ROOT_USERNAME" --password "$MONGO_INITDB_ROOT_PASSWORD" \
  --authenticationDatabase admin --eval '
  const readModels = { role: "readWrite", db: "annals" };
  const keyVault = { role: "readWrite", db: "annals_vault" };
  const users = [
    { user: "annals-edge", pwd: process.env.MONGO_EDGE_PASSWORD, roles: [readModels] },
    { user: "annals-vault", pwd: process.env.MONGO_VAULT_PASSWORD, roles: [readModels, keyVault] },
  ];
  const admin = db.getSiblingDB("admin");
  for (const { user, pwd, roles } of users) {
    if (!pwd) throw new Error("the password of " + user + " is not set");
    if (admin.getUser(user)) admin.updateUser(user, { pwd, roles });
    else admin.createUser({ user, pwd, roles });
  }
'
