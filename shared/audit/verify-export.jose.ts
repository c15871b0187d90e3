import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { z } from 'zod';
import {
  exportedItem,
  exportEnd,
  firstExportEnd,
  formerExportEnd,
  historyLine,
  type ExportedItem,
  type ExportEnd,
  type FirstExportEnd,
  type FormerExportEnd,
  type HistoryLine,
} from '../../schemas/http/account/history.ts';
import { sha256 } from '../primitives/ids.ts';
import { safeParse } from '../primitives/text/safe-parse.ts';
import { canonicalText, exportLines, ExportNotProven } from './export-lines.ts';
import { hashedMembers, NO_HASH } from '../read-models/account/history-line.ts';
import { ExportedLeaves, type InLog, type LogAnchors } from './exported-leaves.ts';

export interface VerifiedExport {
  /**
   * The user whose history this is. `null`, as are `position` and `time`, for an export in the earlier format, whose
   * signature does not cover it.
   */
  sub: string | null;
  items: number;
  /** Number of items without data because their user was erased: all or none. */
  erased: number;
  /** Position up to which the event store was exported. */
  position: number | null;
  /** The hash of the newest item. */
  hash: string;
  /** Time of the export, according to its last line. */
  time: string | null;
  /** The id of the signing key; `null` if no keys were given. */
  signedBy: string | null;
  /** What the transparency log proves; `null` for an export in an earlier format. */
  log: InLog | null;
}

/** What the verification trusts. */
export interface Anchors extends LogAnchors {
  /** The JWKS of the account service; without it the signature of the last line is not verified. */
  jwks?: JSONWebKeySet | undefined;
}

/**
 * Verifies an export: the form of every line, every digest, the chain of hashes, that each line is in the transparency log,
 * and the signature over the last line.
 * @param chunks the bytes of the export
 * @throws ExportNotProven, and LogAway and WrongTiles as the reader of tiles
 */
export const verifyExport = async (
  chunks: AsyncIterable<Uint8Array>,
  { jwks, ...anchors }: Anchors = {},
): Promise<VerifiedExport> => {
  const items = new VerifiedItems();
  const leaves = new ExportedLeaves();
  let end: End | undefined;
  let number = 0;
  for await (const line of exportLines(chunks)) {
    number += 1;
    const where = `line ${String(number)}`;
    if (end) throw new ExportNotProven(`${where} is after the signature`);
    const read = readLine(line, where);
    if ('signature' in read) {
      end = read;
    } else {
      items.add(read, where);
      leaves.add(read, where);
    }
  }
  if (!end) throw new ExportNotProven('the last line with the signature is missing');
  const where = `line ${String(number)}`;
  const { count, erased, hash } = items.finish(end, where);
  const log = await leaves.finish(end, where, anchors);
  const signedBy = await verifySignature(end, where, jwks);
  const { sub, position, time } = 'previous' in end ? { sub: null, position: null, time: null } : end;
  return { sub, items: count, erased, position, hash, time, signedBy, log };
};

/** The items of an export, each verified against the previous ones. */
class VerifiedItems {
  private count = 0;
  private hash = NO_HASH;
  private position = -1;
  private isErased: boolean | undefined;
  private hasErasure = false;

  add(item: HistoryLine, where: string): void {
    const { salt, data, hash, ...hashed } = hashedMembers(item);
    if (hashed.previous !== this.hash) throw new ExportNotProven(`${where} does not follow the line before it`);
    if (hashed.position <= this.position) throw new ExportNotProven(`${where} is not later than the line before it`);
    if (sha256(canonicalText(hashed, where)) !== hash)
      throw new ExportNotProven(`${where} was changed: its hash does not match`);
    if ((data === null) !== (salt === null))
      throw new ExportNotProven(`${where} has ${data === null ? 'a salt without data' : 'data without its salt'}`);
    this.isErased ??= data === null;
    if (this.isErased !== (data === null)) {
      const differs = this.isErased
        ? 'has data, and lines before it have none'
        : 'has no data, and lines before it have';
      throw new ExportNotProven(`${where} ${differs}: an erasure takes the data of every line`);
    }
    if (data !== null && salt !== null && sha256(salt + canonicalText(data, where)) !== hashed.digest)
      throw new ExportNotProven(`${where} was changed: its digest does not match`);
    this.hasErasure ||= hashed.type === 'UserErased';
    this.count += 1;
    this.hash = hash;
    this.position = hashed.position;
  }

  /** @param where names the last line, which states the totals */
  finish(end: End, where: string): { count: number; erased: number; hash: string } {
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

type End = ExportEnd | FormerExportEnd | FirstExportEnd;
type Line = ExportedItem | HistoryLine | End;

/**
 * Reads a line, which must be the canonical text of its value: no member more, fewer or twice, and no other notation.
 */
const readLine = (line: string, where: string): Line => {
  const value = parse(line, where);
  const isEnd = 'signature' in value;
  const schema: z.ZodType<Line> = isEnd ? endSchema(value) : 'leaf' in value ? exportedItem : historyLine;
  const { data, error } = safeParse(schema, value);
  const what = isEnd ? 'the last line of an export' : 'an item of a history';
  if (error) throw new ExportNotProven(`${where} is not ${what}: ${faultsOf(error)}`);
  if (JSON.stringify(data) !== line)
    throw new ExportNotProven(
      `${where} is written as no export is: it has spaces, or members or numbers in another form`,
    );
  return data;
};

const endSchema = (value: object): z.ZodType<End> => {
  if ('previous' in value) return firstExportEnd;
  return 'checkpoint' in value ? exportEnd : formerExportEnd;
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

/** Returns the id of the key; `null` without keys. */
const verifySignature = async (end: End, where: string, keys: JSONWebKeySet | undefined): Promise<string | null> => {
  const { signature, ...line } = end;
  const parts = signature.split('.').map((part) => Buffer.from(part, 'base64url'));
  // A base64 decoder ignores characters and bits that do not belong to the text.
  if (parts.map((part) => part.toString('base64url')).join('.') !== signature)
    throw new ExportNotProven(`the signature in ${where} is not a compact JWS`);
  const signed = 'previous' in line ? line.previous : canonicalText(line, where);
  if (parts[1]?.toString() !== signed)
    throw new ExportNotProven(`${where} was changed: its signature is over another text`);
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
