import { Contract, type EventLog, JsonRpcProvider, Wallet } from 'ethers';
import type { DevelopmentFile } from '../../../schemas/development-file.ts';

/** Transfers these amounts of the development token, one after the other, each in a block. */
export const transferTokens = async (
  { rpcUrl, token }: Pick<DevelopmentFile, 'rpcUrl' | 'token'>,
  to: string,
  amounts: readonly bigint[],
): Promise<void> => {
  const provider = new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 20 });
  try {
    const owner = new Wallet(token?.ownerKey ?? '', provider);
    const contract = new Contract(token?.address ?? '', ['function transfer(address to, uint256 amount)'], owner);
    for (const amount of amounts) {
      const sent = (await contract.getFunction('transfer')(to, amount)) as { wait: () => Promise<unknown> };
      await sent.wait();
    }
  } finally {
    provider.destroy();
  }
};

/** Returns the transfers of the development token that its chain has, as `<amount> to <receiver>`. */
export const transfersOnChain = async ({
  rpcUrl,
  token,
}: Pick<DevelopmentFile, 'rpcUrl' | 'token'>): Promise<string[]> => {
  const provider = new JsonRpcProvider(rpcUrl);
  try {
    const transfer = 'event Transfer(address indexed from, address indexed to, uint256 value)';
    const logs = await new Contract(token?.address ?? '', [transfer], provider).queryFilter('Transfer');
    return logs.map((log) => {
      const { to, value } = (log as EventLog).args as unknown as { to: string; value: bigint };
      return `${String(value)} to ${to.toLowerCase()}`;
    });
  } finally {
    provider.destroy();
  }
};
