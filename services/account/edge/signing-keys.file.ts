import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { deriveKey } from '../../../shared/keys/derive-key.ts';
import { openText, sealText } from '../../../shared/keys/sealed-text.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { makeFolder } from '../../../shared/primitives/make-folder.ts';
import { createFileWhole } from '../../../shared/primitives/write-file-whole.ts';
import type { SigningKey, SigningKeys } from './signing-keys.ts';

/** Numbered in the order of creation. */
const KEY_FILE = /^token-signing-\d{4}\.key$/;
const FIRST_KEY_FILE = 'token-signing-0001.key';

/**
 * Opens the keys in a folder, which only their owner can read and which the master key encrypts; creates the first key.
 * @throws CannotStart
 */
export const openSigningKeys = (folder: string, masterKey: Uint8Array): SigningKeys => {
  const key = deriveKey(masterKey, 'token signing keys');
  makeFolder(folder, 0o700);
  if (keyFiles(folder).length === 0) createFirstKey(folder, key);
  const keys = keyFiles(folder).map((file) => readKey(folder, file, key));
  const current = keys.at(-1);
  if (!current) throw new Error(`${folder} has no signing key`);
  return {
    current,
    byId: (kid) => keys.find((one) => one.kid === kid),
    published: {
      keys: keys.map(({ kid, publicKey }) => ({ ...coordinates(publicKey), kid, alg: 'ES256', use: 'sig' })),
    },
  };
};

const keyFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((file) => KEY_FILE.test(file))
    .sort();

const readKey = (folder: string, file: string, key: Uint8Array): SigningKey => {
  let pem: string;
  try {
    pem = openText(key, file, readFileSync(join(folder, file), 'utf8'));
  } catch (cause) {
    throw new CannotStart(
      `${join(folder, file)} cannot be opened with this MASTER_KEY: put back the key it was made with`,
      {
        cause,
      },
    );
  }
  const privateKey = createPrivateKey(pem);
  const publicKey = createPublicKey(privateKey);
  return { kid: sha256(JSON.stringify(coordinates(publicKey))).slice(0, 32), privateKey, publicKey };
};

const createFirstKey = (folder: string, key: Uint8Array): void => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  createFileWhole(join(folder, FIRST_KEY_FILE), sealText(key, FIRST_KEY_FILE, pem), 0o600);
};

const coordinatesSchema = z.object({ crv: z.literal('P-256'), kty: z.literal('EC'), x: z.string(), y: z.string() });
const coordinates = (publicKey: SigningKey['publicKey']) =>
  coordinatesSchema.parse(publicKey.export({ format: 'jwk' }));
