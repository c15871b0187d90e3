import { afterAll, beforeAll, it } from '@jest/globals';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { flood, requestText } from './attackers.ts';
import { describeAttack, expectWithinBudgets, ProgramUnderAttack, sized } from './program-under-attack.ts';

const folder = temporaryFolder();
const size = sized({ small: { connections: 4, forMs: 2_000 }, full: { connections: 50, forMs: 20_000 } });

describeAttack('somebody who asks as fast as answers come', () => {
  let attacked: ProgramUnderAttack;
  beforeAll(async () => {
    attacked = await ProgramUnderAttack.start(folder);
  });
  afterAll(() => attacked[Symbol.asyncDispose]());

  it.each([['for what does not exist', requestText('GET', '/nothing')]])(
    '%s, holds up nobody else',
    async (_, text) => {
      const { accountUrl } = attacked.development;
      expectWithinBudgets(await attacked.during(() => flood(accountUrl, { ...size, text })));
    },
  );
});
