/** What a topic is called, how it is keyed is in `services/relay`; partitions and retention are the interface's defaults. */
export const topics = {
  users: { name: 'annals.users.v1', partitions: 12, retentionMs: 30 * 86_400_000 },
  contracts: { name: 'annals.contracts.v1', partitions: 3, retentionMs: null },
  chainEvents: { name: 'annals.chain-events.v1', partitions: 12, retentionMs: 7 * 86_400_000 },
} as const satisfies Record<string, Topic>;
export interface Topic {
  name: string;
  partitions: number;
  /** How long a message is kept; `null`: as long as no newer one has its key. */
  retentionMs: number | null;
}

/** Key of what concerns one contract: CAIP-2 chain and lower-case address. */
export const contractKey = (chainId: number, contractAddress: string): string =>
  `eip155:${String(chainId)}/${contractAddress.toLowerCase()}`;
