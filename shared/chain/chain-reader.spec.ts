import { chainReaderContract } from './chain-reader.contract.ts';
import { MemoryChain } from '../testing/chain/chain-reader.memory.ts';

chainReaderContract('memory', () => {
  const reader = new MemoryChain(2484);
  const chain = {
    mine: (logs: Parameters<MemoryChain['mine']>[0]) => {
      reader.mine(logs);
      return Promise.resolve();
    },
    rollBack: (depth: number) => {
      reader.rollBack(depth);
      return Promise.resolve();
    },
  };
  const close = () => {
    reader.close();
    return Promise.resolve();
  };
  return Promise.resolve({ reader, chain, close });
});
