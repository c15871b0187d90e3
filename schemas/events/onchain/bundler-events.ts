import { z } from 'zod';
import { chainId, hash } from '../../values.ts';
import { event, type EventOf } from '../event.ts';

export const bundlerStream = (chainId: number): string => `bundler-${String(chainId)}`;

export const bundlingMode = z.enum(['auto', 'manual']);
export type BundlingMode = z.infer<typeof bundlingMode>;

const request = z.object({ chainId, requestId: z.string() });

/** Stream `bundler-<chainId>`: what `debug_bundler_*` asks of the process that bundles. Counts with `RPC_DEBUG` only. */
export const bundlerEvents = {
  BundlingModeSet: event(1, z.object({ chainId, mode: bundlingMode })),
  BundleRequested: event(1, request),
  /** `transactionHash`: of the bundle; `null` if there was nothing to send. */
  BundleRequestAnswered: event(1, request.extend({ transactionHash: hash.nullable() })),
};
export type BundlerEvent = EventOf<typeof bundlerEvents>;
