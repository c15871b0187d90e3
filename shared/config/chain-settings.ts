import { z } from 'zod';
import { uint } from '../../schemas/values.ts';
import { readAddress } from '../chain/identifiers/address.ts';
import { httpUrl } from './http-url.ts';

/**
 * EntryPoint v0.7 and the factory of its SimpleAccount. Both have these addresses on every chain with the deterministic
 * deployer.
 */
const ENTRY_POINT = '0x0000000071727De22E5E9d8BAf0edAc6f37da032';
const ACCOUNT_FACTORY = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
const contract = z.string().transform((text, context) => {
  const read = readAddress(text);
  if (read === undefined) context.addIssue('is not an address');
  return read ?? z.NEVER;
});

const depth = z.int().min(1).max(512);

export const chainSettings = z.object({
  chainId: z.int().positive(),
  rpcUrls: z.array(httpUrl).min(1),
  /** Which blocks count as final: those up to the block with this name, or those this many blocks behind the head. */
  finality: z
    .union(
      [z.literal('finalized'), z.literal('safe'), depth],
      'is not "finalized", "safe" or a number of blocks from 1 to 512',
    )
    .default('finalized'),
  /** Depth behind the head that counts as final where the chain has no block of that name. */
  confirmations: depth.default(64),
  entryPoint: contract.default(ENTRY_POINT),
  accountFactory: contract.default(ACCOUNT_FACTORY),
  paymaster: contract.optional(),
  /** ERC-7769 bundlers to use instead of the built-in one. */
  bundlerUrls: z.array(httpUrl).optional(),
  /** Maximum gas price in wei. No operation and no bundle pays more. */
  feeCap: uint.optional(),
  /** Maximum tip in wei per gas, whether a caller or a node asks for the tip. */
  tipMax: uint.optional(),
  /** WebSocket endpoints that announce new blocks. */
  wsUrls: z.array(z.url({ protocol: /^wss?$/ })).optional(),
  /** Whether the events of the chain may be read over plain HTTP without a token. */
  public: z.boolean().optional(),
  /** `false` for a chain whose header blooms leave out logs. */
  bloom: z.boolean().optional(),
});
export type ChainSettings = z.infer<typeof chainSettings>;

const GWEI = 10n ** 9n;
/** Wei per gas, where the settings have none. */
const FEE_CAP = 500n * GWEI;
const TIP_MAX = 100n * GWEI;

export const feeCapOf = ({ feeCap }: Pick<ChainSettings, 'feeCap'>): bigint => BigInt(feeCap ?? FEE_CAP);
export const tipMaxOf = ({ tipMax }: Pick<ChainSettings, 'tipMax'>): bigint => BigInt(tipMax ?? TIP_MAX);
