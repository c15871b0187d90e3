import { expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { given } from '../../../../shared/testing/given.ts';
import { preparedChainFold, recordPreparation } from './prepared-chain.ts';

const prepared = eventExamples.ChainPrepared;
const [executor = ''] = prepared.executors;
const event = { type: 'ChainPrepared', data: prepared } as const;

it('a chain that is prepared again as it was records nothing, and each change is recorded whole', () => {
  given(preparedChainFold, []).decides((known) => recordPreparation(known, prepared), [event]);
  const { state, decides } = given(preparedChainFold, [[event, 0]]);
  expect(state).toEqual(prepared);
  decides((known) => recordPreparation(known, { ...prepared }), []);
  for (const change of [
    { entryPoint: executor },
    { accountFactory: executor },
    { paymaster: executor },
    { paymasterOwner: executor },
    { executors: [executor, executor] },
  ]) {
    const changed = { ...prepared, ...change };
    decides((known) => recordPreparation(known, changed), [{ type: 'ChainPrepared', data: changed }]);
  }
});
