import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { exportedItem, exportEnd } from '../../schemas/http/user-routes.ts';
import { canonicalJson, digestOf } from '../primitives/canonical-json.ts';
import { sha256 } from '../primitives/ids.ts';

/** What an export does not prove, and where. */
export class ExportNotProven extends Error {
  override readonly name = 'ExportNotProven';
}

export interface VerifiedExport {
  items: number;
  /** How many of them have no data any more, because their user was erased. */
  erased: number;
  /** The hash of the newest item. */
  hash: string;
  /** The id of the key that signed it; `null` where no keys were given. */
  signedBy: string | null;
}

/**
 * Verifies an export: every digest, the chain of hashes and the signature over the last.
 * @param lines without line feeds
 * @param keys the JWKS of the account service; without it the signature is not verified
 * @throws ExportNotProven
 */
export const verifyExport = async (
  lines: AsyncIterable<string>,
  keys: JSONWebKeySet | undefined,
): Promise<VerifiedExport> => {
  const verified = { items: 0, erased: 0, hash: '0'.repeat(64) };
  let end: { previous: string; signature: string } | undefined;
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line === '') continue;
    const where = `line ${String(number)}`;
    if (end) throw new ExportNotProven(`${where} is after the signature`);
    const value = parse(line, where);
    const last = exportEnd.safeParse(value);
    if (last.success) end = last.data;
    else verifyItem(value, where, verified);
  }
  if (!end) throw new ExportNotProven('the last line with the signature is missing');
  if (end.previous !== verified.hash) throw new ExportNotProven('lines are missing before the signature');
  return { ...verified, signedBy: keys ? await verifySignature(end, keys) : null };
};

const verifyItem = (value: unknown, where: string, verified: Omit<VerifiedExport, 'signedBy'>): void => {
  const read = exportedItem.safeParse(value);
  if (!read.success) throw new ExportNotProven(`${where} is not an item of a history`);
  const { salt, data, hash, ...hashed } = read.data;
  if (hashed.previous !== verified.hash) throw new ExportNotProven(`${where} does not follow the line before it`);
  if (sha256(canonicalJson(hashed)) !== hash) throw new ExportNotProven(`${where} was changed: its hash is another`);
  if (data === null || salt === null) verified.erased += 1;
  else if (digestOf(salt, data) !== hashed.digest)
    throw new ExportNotProven(`${where} was changed: its digest is another`);
  verified.items += 1;
  verified.hash = hash;
};

const parse = (line: string, where: string): unknown => {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new ExportNotProven(`${where} is not JSON`, { cause });
  }
};

const verifySignature = async (
  { previous, signature }: { previous: string; signature: string },
  keys: JSONWebKeySet,
): Promise<string> => {
  try {
    const audit = keys.keys.filter(({ kid }) => kid?.startsWith('audit-'));
    const { payload, protectedHeader } = await compactVerify(signature, createLocalJWKSet({ keys: audit }));
    if (Buffer.from(payload).toString() !== previous) throw new Error('it signs another hash');
    return protectedHeader.kid ?? '';
  } catch (cause) {
    throw new ExportNotProven('the signature is not by an audit key of these keys', { cause });
  }
};
