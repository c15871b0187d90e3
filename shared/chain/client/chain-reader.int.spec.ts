import { Anvil } from '../testing/anvil.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { chainReaderContract } from './chain-reader.contract.ts';
import { JsonRpcChainReader } from './chain-reader.json-rpc.ts';

const folder = temporaryFolder();

chainReaderContract('JSON-RPC, with anvil', async () => {
  const anvil = await Anvil.start(folder);
  const reader = new JsonRpcChainReader(Anvil.chainId, [anvil.rpcUrl]);
  return {
    reader,
    chain: anvil,
    close: async () => {
      reader.close();
      await anvil.stop();
    },
  };
});
