import { z } from 'zod';

/** An EVM address as it is stored and returned: EIP-55. Inputs in any letter case are converted first. */
export const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'is not an address: 0x and 40 hex digits');
/** What is read as an address; in mixed case it must have the EIP-55 checksum. */
export const addressInput = address.describe(
  'an EVM address in any letter case; mixed case must have its EIP-55 checksum',
);
/** What is read as the address of a contract on a chain that is known. */
export const contractInput = address.describe(
  'an EVM address in any letter case; mixed case must have its EIP-55 checksum, or on chains 30 and 31 that of EIP-1191',
);
/** 32 bytes, lower-case hex. */
export const hash = z.string().regex(/^0x[0-9a-f]{64}$/, 'is not a hash: 0x and 64 lower-case hex digits');
/** What is read as a hash: in any letter case. */
export const hashInput = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'is not a hash: 0x and 64 hex digits')
  .toLowerCase();
export const chainId = z.int().positive();
export const blockNumber = z.int().nonnegative();
/** ISO 8601 UTC with milliseconds. */
export const isoTime = z.iso.datetime({ precision: 3 });
/** What clients may write: a date, which stands for its first moment in UTC, or a time with a time zone. */
export const isoTimeInput = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/, 'is not an ISO 8601 date or time')
  .refine((text) => !Number.isNaN(Date.parse(text)), 'is not a time that there is');
/** Unix milliseconds. */
export const unixMs = z.int().nonnegative();

/** A `uint256`: decimal digits. */
export const uint = z
  .string()
  // What is no number is not looked at further, here and in refinements elsewhere, which read it by `BigInt`.
  .regex(/^(?:0|[1-9]\d{0,77})$/, { error: 'is not an amount: decimal digits, without zeros in front', abort: true })
  .refine((text) => BigInt(text) < 2n ** 256n, { error: 'is 2^256 or more', abort: true });
/** Bytes of any number, lower-case hex. */
export const hexBytes = z.string().regex(/^0x(?:[0-9a-f]{2})*$/, 'is not bytes: 0x and pairs of lower-case hex digits');

/** The method of a login; `amr` of the access token. */
export const loginMethod = z.enum(['wallet', 'messenger', 'email', 'oauth-a', 'oauth-b', 'oauth-c', 'passkey']);
export type LoginMethod = z.infer<typeof loginMethod>;
/** The same in documents of read models, which any text fits: they have the same form when a method is added. */
export const keptLoginMethod = z.custom<LoginMethod>((value) => typeof value === 'string');
