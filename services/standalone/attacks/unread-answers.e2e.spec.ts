import { afterAll, beforeAll, it } from '@jest/globals';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { requestText, sendUnread } from './attackers.ts';
import { describeAttack, expectWithinBudgets, ProgramUnderAttack, sized } from './program-under-attack.ts';

const folder = temporaryFolder();

describeAttack('somebody who reads no answer', () => {
  let attacked: ProgramUnderAttack;
  beforeAll(async () => {
    attacked = await ProgramUnderAttack.start(folder);
  });
  afterAll(() => attacked[Symbol.asyncDispose]());

  it('takes no memory with many pipelined requests for small answers', async () => {
    const { connections, each, forMs } = sized({
      small: { connections: 20, each: 200, forMs: 2_000 },
      full: { connections: 100, each: 1_600, forMs: 30_000 },
    });
    const text = requestText('GET', '/universal-account').repeat(each);
    const { accountUrl } = attacked.development;
    expectWithinBudgets(await attacked.during(() => sendUnread(accountUrl, { connections, text, forMs })));
  });
});
