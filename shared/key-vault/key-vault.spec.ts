import { keyVaultContract } from './key-vault.contract.ts';
import { MemoryKeyVault } from '../testing/engines/key-vault.memory.ts';

const vault = new MemoryKeyVault();
keyVaultContract('memory', () => Promise.resolve([vault, vault]));
