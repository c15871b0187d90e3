import type { SponsorshipPolicy } from '../../../schemas/events/account/app-events.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { NOBODY } from './sends-under-test.ethers.ts';

/** A selector that serves only to test the rule `selector`. */
export const OTHER_SELECTOR = '0x55667788';

/** By rule: the policy that refuses calls of `NOBODY`; `null`: no policy. */
export const refusingPolicies: readonly (readonly [rule: string, policy: Partial<SponsorshipPolicy> | null])[] = [
  ['no_policy', null],
  ['target', { allow: [{ target: randomWallet().address, selectors: null }] }],
  ['selector', { allow: [{ target: NOBODY, selectors: [OTHER_SELECTOR] }] }],
  ['operation', { operationWei: '1' }],
  ['user_day', { userDayWei: '1' }],
  ['day', { dayWei: '1' }],
];
