import { z } from 'zod';
import type { DevelopmentFile } from '../../schemas/development-file.ts';
import { chainSettings } from '../config/settings.ts';

/** Everything that runs for one client, in one process or in many. */
export interface WholeProgram {
  /** What clients are told. */
  readonly development: DevelopmentFile;
  /** The last of what it said. */
  readonly logs: string;
  /** As a crash: no handler runs. */
  kill: () => Promise<void>;
  /** Starts what does not run, on what it had kept and where clients expect it. */
  restart: () => Promise<WholeProgram>;
  stop: () => Promise<unknown>;
}

/** Settings of everything that tests start: whatever else runs on this machine, and however fast they ask. */
export const testSettings = {
  ACCOUNT_PORT: '0',
  EVENT_CATCHER_PORT: '0',
  STREAM_PORT: '0',
  METRICS_PORT: '0',
  LOCAL_CHAIN_PORT: '0',
  RATE_LIMITS: 'off',
} as const satisfies Record<string, string>;

/** Settings for a start in the place of one that was there: the issuer of tokens is an address. */
export const portsOf = ({ accountUrl, eventUrl, streamUrl }: DevelopmentFile) => ({
  ACCOUNT_PORT: new URL(accountUrl).port,
  EVENT_CATCHER_PORT: new URL(eventUrl).port,
  STREAM_PORT: new URL(streamUrl).port,
});

const chains = z.tuple([chainSettings], z.unknown());

/** The first chain of `CHAINS`: the one that clients are told of. */
export const firstChain = (setting: string): { chainId: number; rpcUrl: string; confirmations: number } => {
  const [{ chainId, rpcUrls, confirmations }] = chains.parse(JSON.parse(setting));
  return { chainId, rpcUrl: rpcUrls[0] ?? '', confirmations };
};
