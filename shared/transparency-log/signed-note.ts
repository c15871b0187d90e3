import { createHash, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import { privateKeyOfSeed, publicKeyOfSeed } from '../keys/signatures/ed25519-keys.ts';

/**
 * C2SP signed-note: text that ends with a line feed, an empty line, and a line for each signature. A key is known by its
 * name and the first four bytes of a hash of it.
 */

/** The type of a signature, as it stands before the key in a `vkey`. */
export const ED25519 = 1;
/** C2SP tlog-cosignature: the signature of a witness, with a time. */
export const COSIGNATURE = 4;
const KEY_BYTES = 32;
const ID_BYTES = 4;
const SIGNATURE_BYTES = 64;
const TIME_BYTES = 8;
const NAME = /^[^\p{White_Space}\p{Cc}\p{Cs}+]+$/u;
const SIGNATURE_LINE = /^— (\S+) ([A-Za-z0-9+/]+={0,2})$/u;
const CONTROL_CHARACTER = /[\u0000-\u0009\u000b-\u001f]/u;
/** Signatures by unknown keys are ignored, so anybody could add many. */
const SIGNATURES_MAX = 100;

export type SignatureType = typeof ED25519 | typeof COSIGNATURE;

/** A public key, known by its `vkey`: `<name>+<id in hex>+<base64 of type and key>`. */
export interface NoteKey {
  readonly name: string;
  readonly type: SignatureType;
  readonly id: Buffer;
  readonly publicKey: Buffer;
}

export interface NoteSignature {
  name: string;
  id: Buffer;
  signature: Buffer;
}

/** A text is not a signed note, or a key is not one of notes. */
export class NotANote extends Error {
  override readonly name = 'NotANote';
}

/** @param publicKey 32 bytes */
export const noteKey = (name: string, publicKey: Buffer, type: SignatureType = ED25519): NoteKey => {
  if (!NAME.test(name)) throw new NotANote(`"${name}" is not the name of a key: it has a space or a plus sign`);
  const hash = createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.from([type]))
    .update(publicKey);
  return { name, type, id: hash.digest().subarray(0, ID_BYTES), publicKey };
};

export const vkeyOf = ({ name, type, id, publicKey }: NoteKey): string =>
  `${name}+${id.toString('hex')}+${Buffer.concat([Buffer.from([type]), publicKey]).toString('base64')}`;

/** @throws NotANote */
export const parseVkey = (text: string): NoteKey => {
  const [, name = '', base64 = ''] = /^([^+]+)\+[0-9a-f]{8}\+(.+)$/su.exec(text) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  const [type] = bytes;
  if (bytes.length === 1 + KEY_BYTES && (type === ED25519 || type === COSIGNATURE) && NAME.test(name)) {
    const key = noteKey(name, bytes.subarray(1), type);
    if (vkeyOf(key) === text) return key;
  }
  throw new NotANote(
    `"${text}" is no key of a log or witness: it must be <name>+<id>+<base64>, with the id of that key`,
  );
};

/** Signs texts as a log, or as a witness of logs. */
export class NoteSigner {
  private readonly privateKey: KeyObject;
  readonly key: NoteKey;

  /** @param seed the private key, 32 bytes */
  constructor(name: string, seed: Buffer, type: SignatureType = ED25519) {
    this.privateKey = privateKeyOfSeed(seed);
    this.key = noteKey(name, publicKeyOfSeed(seed), type);
  }

  /**
   * Returns the line of the signature.
   * @param time in Unix seconds; part of a cosignature, and of no other signature
   */
  sign(text: string, time = 0): string {
    const { type } = this.key;
    const signature = sign(null, Buffer.from(signedText(text, type, time)), this.privateKey);
    return signatureLine(this.key, type === COSIGNATURE ? Buffer.concat([timeBytes(time), signature]) : signature);
  }
}

const signatureLine = ({ name, id }: NoteKey, signature: Buffer): string =>
  `— ${name} ${Buffer.concat([id, signature]).toString('base64')}\n`;

/** @param text ends with a line feed */
export const signedNote = (text: string, signatureLines: readonly string[]): string =>
  `${text}\n${signatureLines.join('')}`;

/** Reads the text and the signatures, which are not verified. @throws NotANote */
export const parseNote = (note: string): { text: string; signatures: NoteSignature[] } => {
  const end = note.lastIndexOf('\n\n');
  const text = note.slice(0, end + 1);
  const lines = note.slice(end + 2).split('\n');
  if (end < 0) throw new NotANote('it is no signed note: it has no empty line');
  if (CONTROL_CHARACTER.test(note) || !note.isWellFormed())
    throw new NotANote('it is no signed note: it has control characters, or is no text');
  if (lines.pop() !== '' || lines.length === 0)
    throw new NotANote('it has no line of a signature, or one that was cut');
  if (lines.length > SIGNATURES_MAX) throw new NotANote(`it has more than ${String(SIGNATURES_MAX)} signatures`);
  return { text, signatures: lines.map(parseSignature) };
};

const parseSignature = (line: string): NoteSignature => {
  const [, name = '', base64 = ''] = SIGNATURE_LINE.exec(line) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  if (!NAME.test(name) || bytes.length <= ID_BYTES || bytes.toString('base64') !== base64)
    throw new NotANote(`"${line}" is not the line of a signature`);
  return { name, id: bytes.subarray(0, ID_BYTES), signature: bytes.subarray(ID_BYTES) };
};

export interface OpenedNote {
  text: string;
  /** The line of the key's signature. */
  line: string;
  /** When a witness has signed it, in Unix seconds; `undefined` for a key of another type. */
  time: number | undefined;
}

/**
 * Verifies the signature by one key, and ignores all others.
 * @returns `undefined` without a signature by the key
 * @throws NotANote, also if a signature in the name of the key is wrong
 */
export const openNote = (note: string, key: NoteKey): OpenedNote | undefined => {
  const { text, signatures } = parseNote(note);
  const own = signatures.find(({ name, id }) => name === key.name && id.equals(key.id));
  if (!own) return undefined;
  const isCosignature = key.type === COSIGNATURE;
  const time = isCosignature ? timeOf(own.signature) : 0;
  const signature = isCosignature ? own.signature.subarray(TIME_BYTES) : own.signature;
  const publicKey = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: key.publicKey.toString('base64url') },
    format: 'jwk',
  });
  const isRight =
    signature.length === SIGNATURE_BYTES &&
    verify(null, Buffer.from(signedText(text, key.type, time)), publicKey, signature);
  if (!isRight) throw new NotANote(`the signature by ${key.name} is not one of this text`);
  return { text, line: signatureLine(key, own.signature), time: isCosignature ? time : undefined };
};

const signedText = (text: string, type: SignatureType, time: number): string =>
  type === COSIGNATURE ? `cosignature/v1\ntime ${String(time)}\n${text}` : text;

const timeBytes = (time: number): Buffer => {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeBigUInt64BE(BigInt(time));
  return bytes;
};

/** @throws NotANote */
const timeOf = (signature: Buffer): number => {
  const time = signature.length > TIME_BYTES ? Number(signature.readBigUInt64BE()) : NaN;
  if (!Number.isSafeInteger(time)) throw new NotANote('a cosignature has no time');
  return time;
};
