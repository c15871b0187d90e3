import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { deriveKey } from '../../../shared/keys/derive-key.ts';
import { keyId } from '../../../shared/keys/public-jwk.ts';
import { openText, sealText, tryOpenText } from '../../../shared/keys/sealed-text.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { makeFolder } from '../../../shared/primitives/make-folder.ts';
import { createFileWhole, writeFileWhole } from '../../../shared/primitives/write-file-whole.ts';
import type { SigningKey, SigningKeyStore } from './signing-keys.ts';

/** Numbered in the order of creation. */
const KEY_FILE = /^token-signing-(\d{4,})\.key$/;
const numberOf = (file: string): number => Number(KEY_FILE.exec(file)?.[1] ?? 0);
const fileOf = (number: number): string => `token-signing-${String(number).padStart(4, '0')}.key`;

/** What a file holds, encrypted. It is stored, so members may only be added. */
const stored = z.object({ pem: z.string(), createdAt: z.number() });

/** Keys in files of a folder that account processes share, which only their owner can read and the master key encrypts. */
export class SigningKeyFiles implements SigningKeyStore {
  private readonly key: Buffer;
  private readonly read = new Map<string, SigningKey>();

  constructor(
    private readonly folder: string,
    masterKey: Uint8Array,
    private readonly clock: Pick<Clock, 'now'>,
  ) {
    this.key = deriveKey(masterKey, 'token signing keys');
    makeFolder(folder, 0o700);
  }

  async load(): Promise<SigningKey[]> {
    if (this.files().length === 0 && this.read.size === 0) await this.add();
    const files = this.files();
    if (files.length === 0) throw new CannotStart(`${this.folder} has no signing key: put its files back`);
    for (const file of this.read.keys()) if (!files.includes(file)) this.read.delete(file);
    return files.map((file) => this.readKey(file));
  }

  /** Of two processes that add one at once, the key of one is added. */
  add(): Promise<void> {
    const file = fileOf(numberOf(this.files().at(-1) ?? '') + 1);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const text = JSON.stringify({ pem, createdAt: this.clock.now() });
    createFileWhole(join(this.folder, file), sealText(this.key, file, text), 0o600);
    return Promise.resolve();
  }

  keep(kids: ReadonlySet<string>): Promise<void> {
    for (const file of this.files()) {
      if (!kids.has(this.readKey(file).kid)) rmSync(join(this.folder, file), { force: true });
    }
    return Promise.resolve();
  }

  private files(): string[] {
    return readdirSync(this.folder)
      .filter((file) => KEY_FILE.test(file))
      .sort((left, right) => numberOf(left) - numberOf(right));
  }

  private readKey(file: string): SigningKey {
    const known = this.read.get(file);
    if (known) return known;
    const { pem, createdAt } = this.open(file);
    const privateKey = createPrivateKey(pem);
    const publicKey = createPublicKey(privateKey);
    const key = { kid: keyId(publicKey), privateKey, publicKey, createdAt };
    this.read.set(file, key);
    return key;
  }

  private open(file: string): z.infer<typeof stored> {
    const path = join(this.folder, file);
    const sealed = readFileSync(path, 'utf8');
    try {
      const text = openText(this.key, file, sealed);
      // The first version held the key alone.
      return text.startsWith('{') ? stored.parse(JSON.parse(text)) : { pem: text, createdAt: 0 };
    } catch (cause) {
      throw new CannotStart(`${path} cannot be opened with this MASTER_KEY: put back the key it was made with`, {
        cause,
      });
    }
  }
}

/** Encrypts the files of a folder with another master key; those that are are left as they are. @throws CannotStart */
export const resealKeyFiles = (folder: string, from: Uint8Array, to: Uint8Array): number => {
  const [before, after] = [from, to].map((masterKey) => deriveKey(masterKey, 'token signing keys')) as [Buffer, Buffer];
  makeFolder(folder, 0o700);
  const files = readdirSync(folder).filter((file) => KEY_FILE.test(file));
  let changed = 0;
  for (const file of files) {
    const path = join(folder, file);
    const sealed = readFileSync(path, 'utf8');
    if (tryOpenText(after, file, sealed) !== undefined) continue;
    const text = tryOpenText(before, file, sealed);
    if (text === undefined) throw new CannotStart(`${path} is opened by neither of the two master keys`);
    writeFileWhole(path, sealText(after, file, text), 0o600);
    changed += 1;
  }
  return changed;
};
