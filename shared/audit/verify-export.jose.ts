import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { z } from 'zod';
import {
  exportedItem,
  exportEnd,
  formerExportEnd,
  type ExportedItem,
  type ExportEnd,
  type FormerExportEnd,
} from '../../schemas/http/history.ts';
import { canonicalJson, digestOf } from '../primitives/canonical-json.ts';
import { sha256 } from '../primitives/ids.ts';
import { safeParse } from '../primitives/safe-parse.ts';
import { exportLines } from './export-lines.ts';
import { ExportNotProven } from './export-not-proven.ts';
import { NO_HASH } from '../read-models/history-line.ts';

export interface VerifiedExport {
  /** Whose history it is; `null` of an export of the former form, as `position` and `time` are: its signature does not say it. */
  sub: string | null;
  items: number;
  /** How many of them have no data any more, because their user was erased: all or none. */
  erased: number;
  /** No later event of the event store was looked at. */
  position: number | null;
  /** The hash of the newest item. */
  hash: string;
  /** When the export was made, as its last line says. */
  time: string | null;
  /** The id of the key that signed it; `null` where no keys were given. */
  signedBy: string | null;
}

/**
 * Verifies an export: the form of every line, every digest, the chain of hashes and the signature over the last line.
 * @param chunks the bytes of the export
 * @param keys the JWKS of the account service; without it the signature is not verified
 * @throws ExportNotProven
 */
export const verifyExport = async (
  chunks: AsyncIterable<Uint8Array>,
  keys: JSONWebKeySet | undefined,
): Promise<VerifiedExport> => {
  const items = new VerifiedItems();
  let end: ExportEnd | FormerExportEnd | undefined;
  let number = 0;
  for await (const line of exportLines(chunks)) {
    number += 1;
    const where = `line ${String(number)}`;
    if (end) throw new ExportNotProven(`${where} is after the signature`);
    const read = readLine(line, where);
    if ('signature' in read) end = read;
    else items.add(read, where);
  }
  if (!end) throw new ExportNotProven('the last line with the signature is missing');
  const where = `line ${String(number)}`;
  const { count, erased, hash } = items.finish(end, where);
  const signedBy = await verifySignature(end, where, keys);
  const { sub, position, time } = 'previous' in end ? { sub: null, position: null, time: null } : end;
  return { sub, items: count, erased, position, hash, time, signedBy };
};

/** The items of an export, each verified against those before. */
class VerifiedItems {
  private count = 0;
  private hash = NO_HASH;
  private position = -1;
  private isErased: boolean | undefined;
  private hasErasure = false;

  add({ salt, data, hash, ...hashed }: ExportedItem, where: string): void {
    if (hashed.previous !== this.hash) throw new ExportNotProven(`${where} does not follow the line before it`);
    if (hashed.position <= this.position) throw new ExportNotProven(`${where} is not later than the line before it`);
    if (sha256(canonicalJson(hashed)) !== hash) throw new ExportNotProven(`${where} was changed: its hash is another`);
    if ((data === null) !== (salt === null))
      throw new ExportNotProven(`${where} has ${data === null ? 'a salt without data' : 'data without its salt'}`);
    this.isErased ??= data === null;
    if (this.isErased !== (data === null)) {
      const differs = this.isErased
        ? 'has data, and lines before it have none'
        : 'has no data, and lines before it have';
      throw new ExportNotProven(`${where} ${differs}: an erasure takes the data of every line`);
    }
    if (data !== null && salt !== null && digestOf(salt, data) !== hashed.digest)
      throw new ExportNotProven(`${where} was changed: its digest is another`);
    this.hasErasure ||= hashed.type === 'UserErased';
    this.count += 1;
    this.hash = hash;
    this.position = hashed.position;
  }

  /** @param where the last line, which says what there is */
  finish(end: ExportEnd | FormerExportEnd, where: string): { count: number; erased: number; hash: string } {
    const { count, hash, position } = this;
    if (this.isErased && !this.hasErasure)
      throw new ExportNotProven('line 1 has no data, and no line says that the user was erased');
    const signed = 'previous' in end ? end.previous : end.hash;
    if (signed !== hash) throw new ExportNotProven(`lines are missing before ${where}, the signature`);
    if ('items' in end && end.items !== count)
      throw new ExportNotProven(`${where} signs ${String(end.items)} items, and there are ${String(count)}`);
    if ('position' in end && end.position < position)
      throw new ExportNotProven(`${where} ends at position ${String(end.position)}, and an item is later`);
    return { count, erased: this.isErased ? count : 0, hash };
  }
}

type Line = ExportedItem | ExportEnd | FormerExportEnd;

/** Reads a line that is written exactly as its value is: with no member more, fewer or twice, and nothing in another form. */
const readLine = (line: string, where: string): Line => {
  const value = parse(line, where);
  const isEnd = 'signature' in value;
  const schema: z.ZodType<Line> = isEnd ? ('previous' in value ? formerExportEnd : exportEnd) : exportedItem;
  const { data, error } = safeParse(schema, value);
  const what = isEnd ? 'the last line of an export' : 'an item of a history';
  if (error) throw new ExportNotProven(`${where} is not ${what}: ${faultsOf(error)}`);
  if (JSON.stringify(data) !== line)
    throw new ExportNotProven(
      `${where} is written as no export is: it has spaces, or members or numbers in another form`,
    );
  return data;
};

const parse = (line: string, where: string): object => {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new ExportNotProven(`${where} is not JSON`, { cause });
  }
  if (typeof value === 'object' && value !== null) return value;
  throw new ExportNotProven(`${where} is not an item of a history`);
};

const faultsOf = ({ issues }: { issues: readonly { path: PropertyKey[]; message: string }[] }): string =>
  issues
    .map(({ path, message }) => (path.length > 0 ? `${path.map(String).join('.')}: ${message}` : message))
    .join('; ');

/** Returns the id of the key; without keys `null`. */
const verifySignature = async (
  end: ExportEnd | FormerExportEnd,
  where: string,
  keys: JSONWebKeySet | undefined,
): Promise<string | null> => {
  const { signature, ...line } = end;
  const parts = signature.split('.').map((part) => Buffer.from(part, 'base64url'));
  // A decoder ignores characters and bits that are not the text's.
  if (parts.map((part) => part.toString('base64url')).join('.') !== signature)
    throw new ExportNotProven(`the signature in ${where} is not a compact JWS`);
  const signed = 'previous' in line ? line.previous : canonicalJson(line);
  if (parts[1]?.toString() !== signed) throw new ExportNotProven(`${where} was changed: its signature is over another`);
  if (!keys) return null;
  try {
    const audit = keys.keys.filter(({ kid }) => kid?.startsWith('audit-'));
    const options = { algorithms: ['ES256'] };
    const { protectedHeader } = await compactVerify(signature, createLocalJWKSet({ keys: audit }), options);
    return protectedHeader.kid ?? '';
  } catch (cause) {
    throw new ExportNotProven(`the signature in ${where} is not by an audit key of these keys`, { cause });
  }
};
