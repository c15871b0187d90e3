import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { executorStream } from '../../../schemas/events/onchain/executor-events.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { SendsUnderTest } from '../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 20_000;

describe('a chain that is prepared with more executors', () => {
  let sends: SendsUnderTest;
  beforeAll(async () => {
    sends = await SendsUnderTest.start(folder, { executors: 1 });
  });
  afterAll(() => sends.stop());

  const bundlesOf = async (executor: string) =>
    (await sends.typesOf(executorStream(Anvil.chainId, executor))).filter((type) => type === 'BundleSigned').length;

  it('has pending bundles of each executor, without a restart', async () => {
    const sender = await sends.sender(await sends.app());
    const sent: unknown[] = [];
    const send = async () => {
      sent.push((await sends.send(sender)).body['id']);
    };
    const areIncluded = () => Promise.all(sent.map((id) => sends.until(sender, id, 'included')));
    await send();
    await areIncluded();
    const [first = '', second = ''] = await sends.prepareExecutors(2);
    const before = await bundlesOf(first);
    await sends.testChain.setAutomine(false);
    const areUsed = async () => {
      await send();
      return (await bundlesOf(first)) > before && (await bundlesOf(second)) > 0;
    };
    await eventually(areUsed, HAPPENS_WITHIN_MS, 'both executors must have a bundle');
    await sends.testChain.setAutomine(true);
    await sends.mine(1);
    await areIncluded();
  });
});
