import { createRequire } from 'node:module';
import { ContractFactory, getCreateAddress, HDNodeWallet, JsonRpcProvider, Mnemonic, parseEther } from 'ethers';

export interface DevelopmentToken {
  /** In EIP-55 form. */
  address: string;
  /** The block of its deployment. */
  startBlock: number;
  /** The private key of the account that holds the supply, and gas. */
  ownerKey: string;
}

/** An account that every anvil funds. Its key is public, and worthless elsewhere. */
const fundedAccount = (number: number): HDNodeWallet =>
  HDNodeWallet.fromMnemonic(
    Mnemonic.fromPhrase('test test test test test test test test test test test junk'),
    `m/44'/60'/0'/0/${String(number)}`,
  );
const OWNER = fundedAccount(0);
/** The private key of an account with 10,000 ether on a local chain. */
export const LOCAL_FUNDER_KEY = fundedAccount(1).privateKey;
const SUPPLY = parseEther('1000000000');

/** Returns an ERC-20, the owner's first contract. Deploys it if it does not exist. */
export const ensureDevelopmentToken = async (rpcUrl: string): Promise<DevelopmentToken> => {
  const provider = new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 50 });
  try {
    const address = getCreateAddress({ from: OWNER.address, nonce: 0 });
    if ((await provider.getCode(address)) === '0x') {
      const artifact = createRequire(import.meta.url)(
        '@openzeppelin/contracts/build/contracts/ERC20PresetFixedSupply.json',
      ) as { abi: string[]; bytecode: string };
      const factory = new ContractFactory(artifact.abi, artifact.bytecode, OWNER.connect(provider));
      const token = await factory.deploy('Annals Development Token', 'ADT', SUPPLY, OWNER.address);
      await token.waitForDeployment();
    }
    return { address, startBlock: await deploymentBlock(provider, address), ownerKey: OWNER.privateKey };
  } finally {
    provider.destroy();
  }
};

/** Finds the block of the token's first log: the supply is minted in the deployment. */
const deploymentBlock = async (provider: JsonRpcProvider, address: string): Promise<number> => {
  const [minted] = await provider.getLogs({ address, fromBlock: 0, toBlock: 'latest' });
  return minted?.blockNumber ?? 0;
};
