import { describe, it } from '@jest/globals';
import type { PasskeyEvent } from '../../../../schemas/events/account/passkey-events.ts';
import { expectNothingTheSecondTime, givenAt } from '../../../../shared/testing/given.ts';
import { passkeyFold, registerPasskey, usePasskey } from './passkey.ts';

const registration = {
  ...{ userId: 'usr_1', identityId: 'i1', rpId: 'app.example', credentialId: 'AAEC', publicKey: 'pQEC' },
  ...{ counter: 0, transports: ['internal'] },
};
const registered = (counter = 0): PasskeyEvent => ({ type: 'PasskeyRegistered', data: { ...registration, counter } });
const used = (counter: number, stateHash = 's1'): PasskeyEvent => ({
  type: 'PasskeyUsed',
  data: { identityId: 'i1', counter, stateHash },
});
const after = givenAt(passkeyFold, 0);
type State = typeof passkeyFold.initial;
const use =
  (counter: number, stateHash = 's2') =>
  (state: State) =>
    usePasskey(state, { counter, stateHash });

describe('a passkey', () => {
  it('is registered once, by its user and key', () => {
    after().decides((state) => registerPasskey(state, registration), [registered()]);
    expectNothingTheSecondTime(passkeyFold, undefined, (state) => registerPasskey(state, registration), 0);
    for (const other of [{ userId: 'usr_2' }, { publicKey: 'another' }]) {
      after(registered()).refuses((state) => registerPasskey(state, { ...registration, ...other }), 'passkey_invalid');
    }
  });

  it('has a counter that rises with every login, or is always 0', () => {
    after(registered()).decides(use(0), []);
    after(registered()).decides(use(1), [used(1, 's2')]);
    after(registered(5)).decides(use(6), [used(6, 's2')]);
    for (const counter of [5, 4, 0]) after(registered(5)).refuses(use(counter), 'passkey_invalid');
    after(registered(), used(7)).refuses(use(7), 'passkey_invalid');
    after(registered(), used(7)).refuses(use(0), 'passkey_invalid');
  });

  it('is used by a login once: the same again changes nothing', () => {
    after(registered(), used(7, 's2')).decides(use(7), []);
    after(registered(), used(7, 's2')).refuses(use(6), 'passkey_invalid');
  });

  it('is not used before it is registered', () => {
    after().refuses(use(1), 'passkey_invalid');
    after(used(1)).refuses(use(1), 'passkey_invalid');
  });
});
