import { Anvil } from '../../testing/chain/anvil.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { chainReaderContract } from '../chain-reader.contract.ts';
import { ChainClient } from './chain-client.ts';
import { JsonRpcChainReader } from './chain-reader.json-rpc.ts';

const folder = temporaryFolder();

chainReaderContract('JSON-RPC, with anvil', async () => {
  const anvil = await Anvil.start(folder);
  const reader = new JsonRpcChainReader(new ChainClient(Anvil.chainId, [anvil.rpcUrl]));
  return {
    reader,
    chain: anvil,
    close: async () => {
      reader.close();
      await anvil.stop();
    },
  };
});
