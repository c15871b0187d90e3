import type { SponsorshipPolicy } from '../../../schemas/events/app-events.ts';
import { randomWallet } from '../../../shared/testing/random-wallet.ethers.ts';
import { NOBODY } from './sends-under-test.ethers.ts';

/** A selector that no policy allows whose other rules matter. */
export const OTHER_SELECTOR = '0x55667788';

/** By rule, what a policy says that refuses calls of `NOBODY`; `null`: there is none. */
export const refusingPolicies: readonly (readonly [rule: string, policy: Partial<SponsorshipPolicy> | null])[] = [
  ['no_policy', null],
  ['target', { allow: [{ target: randomWallet().address, selectors: null }] }],
  ['selector', { allow: [{ target: NOBODY, selectors: [OTHER_SELECTOR] }] }],
  ['operation', { operationWei: '1' }],
  ['user_day', { userDayWei: '1' }],
  ['day', { dayWei: '1' }],
];
