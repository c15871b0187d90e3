import { isError, Wallet, type JsonRpcProvider, type TransactionRequest, type TransactionResponse } from 'ethers';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';

const POLL_MS = 20;
const MINED_WITHIN_MS = 300_000;

/** The account that pays. Its transactions may be sent concurrently: they have consecutive nonces. */
export class Funder {
  private readonly wallet: Wallet | undefined;
  private nonce: Promise<number> | undefined;

  constructor(
    provider: JsonRpcProvider,
    private readonly chainId: number,
    key: string | undefined,
  ) {
    this.wallet = key === undefined ? undefined : new Wallet(key, provider);
  }

  async send(transaction: TransactionRequest): Promise<string> {
    const { wallet } = this;
    if (!wallet) {
      const what = `chain ${String(this.chainId)} lacks contracts, balance or deposit`;
      throw new CannotStart(`${what}: name a file with the key of an account that pays by --funder-key-file`);
    }
    const mine = (this.nonce ?? wallet.getNonce('latest')).then((nonce) => nonce);
    this.nonce = mine.then((nonce) => nonce + 1);
    return sendFrom(wallet, { ...transaction, nonce: await mine });
  }
}

/** Sends, and waits for the block. @returns the hash. @throws CannotStart if the sender cannot pay, or sends something else */
export const sendFrom = async (wallet: Wallet, transaction: TransactionRequest): Promise<string> => {
  try {
    const sent = await wallet.sendTransaction(transaction);
    await waitForBlock(sent);
    return sent.hash;
  } catch (error) {
    if (isError(error, 'NONCE_EXPIRED') || isError(error, 'REPLACEMENT_UNDERPRICED')) {
      const what = `another transaction of ${wallet.address} is under way`;
      throw new CannotStart(`${what}: run this again when it is in a block`, { cause: error });
    }
    if (!isError(error, 'INSUFFICIENT_FUNDS')) throw error;
    throw new CannotStart(`${wallet.address} has too little balance to pay for this: send it some`, { cause: error });
  }
};

/** geth refuses a receipt that it does not have while it indexes transactions: on a new chain, until its first block. */
const IS_INDEXING = 'transaction indexing is in progress';

const waitForBlock = async (sent: TransactionResponse): Promise<void> => {
  const deadline = performance.now() + MINED_WITHIN_MS;
  for (;;) {
    const leftMs = deadline - performance.now();
    try {
      await sent.wait(1, Math.max(1, Math.floor(leftMs)));
      return;
    } catch (error) {
      if (leftMs <= 0 || !String(error).includes(IS_INDEXING)) throw error;
      await pause(POLL_MS);
    }
  }
};
