import { z } from 'zod';
import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { chainSettings } from '../../config/chain-settings.ts';

/** Everything that runs for one client, in one process or in several. */
export interface WholeProgram {
  /** The addresses and the app for clients. */
  readonly development: DevelopmentFile;
  /** The last lines of output. */
  readonly logs: string;
  /** Kills it as a crash would: no handler runs. */
  kill: () => Promise<void>;
  /** Starts what does not run, with its data and at its old addresses. */
  restart: () => Promise<WholeProgram>;
  stop: () => Promise<unknown>;
}

/** Another program on this machine may have the default ports. */
export const FREE_PORTS = { ACCOUNT_PORT: '0', EVENT_CATCHER_PORT: '0', STREAM_PORT: '0' } as const;

/**
 * Settings of everything that tests start, so that other programs on this machine, its load and fast clients do not interfere.
 */
export const testSettings = {
  ...FREE_PORTS,
  METRICS_PORT: '0',
  LOCAL_CHAIN_PORT: '0',
  RATE_LIMITS: 'off',
  // On a busy machine a stop takes longer than the default. One that hangs still ends, with exit code 1 and its log.
  STOP_SECONDS: '60',
} as const satisfies Record<string, string>;

/** Settings for a restart at the same addresses: the issuer of tokens is an address. */
export const portsOf = ({ accountUrl, eventUrl, streamUrl }: DevelopmentFile) => ({
  ACCOUNT_PORT: new URL(accountUrl).port,
  EVENT_CATCHER_PORT: new URL(eventUrl).port,
  STREAM_PORT: new URL(streamUrl).port,
});

const chains = z.tuple([chainSettings], z.unknown());

/** Returns the first chain of `CHAINS`, which is the one for clients. */
export const firstChain = (setting: string): { chainId: number; rpcUrl: string; confirmations: number } => {
  const [{ chainId, rpcUrls, confirmations }] = chains.parse(JSON.parse(setting));
  return { chainId, rpcUrl: rpcUrls[0] ?? '', confirmations };
};
