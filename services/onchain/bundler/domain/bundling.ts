import type { BundlerEvent, BundlingMode } from '../../../../schemas/events/onchain/bundler-events.ts';

/** What `debug_bundler_*` calls set: the bundling mode, and the requests for a bundle that have no answer yet. */
export interface Bundling {
  /** `manual`: bundles are made only on request. */
  mode: BundlingMode;
  /** Requests without an answer, oldest first. */
  requests: readonly BundleRequest[];
}

export interface BundleRequest {
  requestId: string;
  /** Unix milliseconds. */
  requestedAt: number;
}

export const bundlingFold = {
  initial: { mode: 'auto', requests: [] } as Bundling,
  evolve: (bundling: Bundling, { type, data }: BundlerEvent, time: number): Bundling => {
    const { mode, requests } = bundling;
    switch (type) {
      case 'BundlingModeSet':
        return { mode: data.mode, requests };
      case 'BundleRequested':
        return { mode, requests: [...requests, { requestId: data.requestId, requestedAt: time }] };
      case 'BundleRequestAnswered':
        return { mode, requests: requests.filter(({ requestId }) => requestId !== data.requestId) };
    }
  },
};

export const setMode = ({ mode: before }: Bundling, chainId: number, mode: BundlingMode): BundlerEvent[] =>
  mode === before ? [] : [{ type: 'BundlingModeSet', data: { chainId, mode } }];

export const answerRequest = (
  { requests }: Bundling,
  chainId: number,
  { requestId, transactionHash }: { requestId: string; transactionHash: string | null },
): BundlerEvent[] =>
  requests.some((request) => request.requestId === requestId)
    ? [{ type: 'BundleRequestAnswered', data: { chainId, requestId, transactionHash } }]
    : [];
