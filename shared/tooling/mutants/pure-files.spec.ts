import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { pureFiles, specsOf } from './pure-files.mjs';

const folder = temporaryFolder();
let checkouts = 0;
const checkout = (files: Record<string, string>): string => {
  const root = join(folder, String((checkouts += 1)));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return root;
};
const rule = 'export const isRight = true;\n';

it('a file is pure if it is synchronous and imports nothing with side effects, in whatever folder', () => {
  const pure = {
    'schemas/topics.ts': "import { z } from 'zod';\n",
    'services/account/edge/signature.ts': "import type { FastifyRequest } from 'fastify';\n",
    'shared/chain/identifiers/address.ts':
      "import { hash } from 'node:crypto';\nimport {\n  a,\n  b,\n} from './bloom.ts';\n",
  };
  const others = {
    'services/account/account.module.ts': rule,
    'services/account/compose-account.ts': rule,
    'schemas/examples/event-examples.ts': rule,
    'services/account/edge/look.ts': 'export const find = async () => 1;\n',
    'services/account/edge/key.ts': "import { readFileSync } from 'node:fs';\n",
    'services/account/edge/guard.ts': "import {\n  Injectable,\n} from '@nestjs/common';\n",
    'services/account/edge/store.ts': "import { Store } from './store.sqlite.ts';\n",
    'services/account/edge/wallets.ts': "import { find } from './look.ts';\n",
    'services/account/edge/all-wallets.ts': "import { all } from './wallets.ts';\n",
    'services/account/edge/signature.spec.ts': rule,
    'services/account/testing/builder.ts': rule,
    'shared/testing/given.ts': rule,
  };
  expect(pureFiles(checkout({ ...pure, ...others }))).toEqual(Object.keys(pure));
});

it('every file of a domain and of the read models is pure', () => {
  const files = {
    'services/account/users/domain/profile.ts': 'export const profile = async () => 1;\n',
    'services/stream/domain/catch-up.ts': 'export const catchUp = async () => 1;\n',
    'shared/read-models/account/users.ts': "import { strict } from 'node:assert';\n",
  };
  expect(pureFiles(checkout(files))).toEqual(Object.keys(files));
});

it('mutants are found by all specs of pure folders, and elsewhere by the spec of the same name', () => {
  const root = checkout({
    'services/stream/domain/cursor.ts': rule,
    'services/stream/domain/cursors-of-all-kinds.spec.ts': rule,
    'services/stream/domain/room/feed.spec.ts': rule,
    'shared/chain/identifiers/address.ts': rule,
    'shared/chain/identifiers/address.spec.ts': rule,
    'shared/chain/bloom.ts': rule,
    'shared/chain/chain-reader.spec.ts': rule,
  });
  expect(specsOf(root, pureFiles(root))).toEqual([
    'services/stream/domain/cursors-of-all-kinds.spec.ts',
    'services/stream/domain/room/feed.spec.ts',
    'shared/chain/identifiers/address.spec.ts',
  ]);
});
