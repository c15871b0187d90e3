import { afterAll, beforeAll, it } from '@jest/globals';
import { MemoryChain } from '../../../shared/testing/chain/chain-reader.memory.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { JsonRpcNode } from '../../../shared/testing/chain/json-rpc-node.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { sized } from '../../../shared/testing/sized.ts';
import { describeAttack, expectWithinBudgets, ProgramUnderAttack } from './program-under-attack.ts';

const CHAIN_ID = 31_337;
const MIB = 1_048_576;
const { bytes, rounds } = sized({ small: { bytes: 3 * MIB, rounds: 1 }, full: { bytes: 31 * MIB, rounds: 3 } });
const TOLD_WITHIN_MS = 100_000;
const FOLLOWED_WITHIN_MS = 60_000;

/** The provider's answers in place of a header, in turn. */
const lies: ((header: string) => string)[] = [
  () => '['.repeat(bytes),
  () => '['.repeat(bytes / 3),
  () => `[${'[],'.repeat(bytes / 3)}[]]`,
  (header) => header.replace(/}$/, `,"extraData":"${'x'.repeat(bytes)}"}`),
  (header) => header.replace(/("timestamp":")0x\w+/, '$10xfffffffffffff'),
];

describeAttack('the only provider of a chain', () => {
  const folder = temporaryFolder();
  const chain = new MemoryChain(CHAIN_ID);
  let provider: JsonRpcNode;
  let attacked: ProgramUnderAttack;
  beforeAll(async () => {
    provider = await JsonRpcNode.start(chain);
    const CHAINS = JSON.stringify([{ chainId: CHAIN_ID, rpcUrls: [provider.url] }]);
    attacked = await ProgramUnderAttack.start(folder, { CHAINS });
  });
  afterAll(async () => {
    await attacked[Symbol.asyncDispose]();
    await provider.stop();
  });

  const headBlock = async (): Promise<number | null | undefined> => {
    const answer = await fetch(`${attacked.development.accountUrl}/universal-account`);
    const { chains } = (await answer.json()) as { chains: { headBlock: number | null }[] };
    return chains[0]?.headBlock;
  };

  it('takes no memory with headers of megabytes, and is followed again when it tells the truth', async () => {
    let told = 0;
    const attack = () => {
      provider.respond = (response, honest) => {
        const [, before = '', header, after = ''] = /^(.*"result":)({.*"parentHash".*})(})$/.exec(honest) ?? [];
        const lie = lies[told % lies.length];
        if (header !== undefined) told += 1;
        response.end(header === undefined || !lie ? honest : before + lie(header) + after);
      };
      return eventually(() => told >= rounds * lies.length, TOLD_WITHIN_MS, 'the program must ask for headers');
    };
    expectWithinBudgets(await attacked.during(attack));
    provider.respond = undefined;
    const { number } = chain.mine([]);
    await eventually(async () => (await headBlock()) === number, FOLLOWED_WITHIN_MS, 'the chain must be followed');
  });
});
