import { describe, expect, it } from '@jest/globals';
import type { AccountCall } from '../../../../shared/chain/identifiers/account-call.ts';
import type { SponsorshipPolicy } from '../../../../schemas/events/account/app-events.ts';
import {
  feesAtMost,
  refusedBy,
  ruleAgainstCalls,
  ruleAgainstCost,
  ruleAgainstGas,
  ruleAgainstTip,
  type OperationGas,
} from './sponsorship-policy.ts';

const TOKEN = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const OTHER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const TRANSFER = '0xa9059cbb';
const policyOf = (changes: Partial<SponsorshipPolicy> = {}): SponsorshipPolicy => ({
  ...{ dayWei: null, userDayWei: null, operationWei: null, allow: [], anySession: false },
  ...changes,
});
const calling = (to: string, data = '0x'): AccountCall => ({ to, value: 1n, data });
const against = (
  policy: SponsorshipPolicy | undefined,
  calls: readonly AccountCall[] | undefined,
  sessionAppId = 'app_1',
) => ruleAgainstCalls({ policy, payingAppId: 'app_1', sessionAppId, calls });

describe('a sponsorship policy', () => {
  it('is there, or nothing is paid', () => {
    expect(against(undefined, [])).toBe('no_policy');
    expect(against(policyOf(), [calling(OTHER)])).toBeUndefined();
  });

  it("is for the app's own sessions, unless it is for any", () => {
    expect(against(policyOf(), [], 'app_2')).toBe('session');
    expect(against(policyOf({ anySession: true }), [], 'app_2')).toBeUndefined();
  });

  it('allows any target while it lists none, also where the calls are not known', () => {
    expect(against(policyOf(), undefined)).toBeUndefined();
    expect(against(policyOf({ allow: [{ target: TOKEN, selectors: null }] }), undefined)).toBe('target');
  });

  it('looks at each call of a batch, by its target and then its selector', () => {
    const policy = policyOf({ allow: [{ target: TOKEN, selectors: [TRANSFER] }] });
    const allowed = calling(TOKEN.toLowerCase(), '0xA9059CBB00');
    expect(against(policy, [allowed, allowed])).toBeUndefined();
    expect(against(policy, [allowed, calling(TOKEN, '0xa9059cbc')])).toBe('selector');
    expect(against(policy, [calling(TOKEN, '0xa9059cbc'), calling(OTHER, TRANSFER)])).toBe('target');
    expect(against(policy, [])).toBeUndefined();
  });

  it('allows calls without data only where it lists them', () => {
    const noData = policyOf({ allow: [{ target: TOKEN, selectors: ['0x'] }] });
    expect(against(noData, [calling(TOKEN)])).toBeUndefined();
    for (const data of ['0x00', TRANSFER]) expect(against(noData, [calling(TOKEN, data)])).toBe('selector');
    const transferOnly = policyOf({ allow: [{ target: TOKEN, selectors: [TRANSFER] }] });
    for (const data of ['0x', '0xa9059c']) expect(against(transferOnly, [calling(TOKEN, data)])).toBe('selector');
  });

  it('allows what any of its entries for a target allows', () => {
    const both = policyOf({
      allow: [
        { target: TOKEN, selectors: [TRANSFER] },
        { target: TOKEN, selectors: ['0x'] },
      ],
    });
    expect(against(both, [calling(TOKEN), calling(TOKEN, TRANSFER)])).toBeUndefined();
    const any = policyOf({ allow: [...both.allow, { target: TOKEN, selectors: null }] });
    expect(against(any, [calling(TOKEN, '0x12345678')])).toBeUndefined();
  });

  it('bounds what one operation may cost', () => {
    expect(ruleAgainstCost(policyOf(), 10n ** 30n)).toBeUndefined();
    expect(ruleAgainstCost(policyOf({ operationWei: '100' }), 100n)).toBeUndefined();
    expect(ruleAgainstCost(policyOf({ operationWei: '100' }), 101n)).toBe('operation');
  });

  it('names the rule to the caller', () => {
    expect(refusedBy('gas')).toMatchObject({ code: 'sponsorship_refused', members: { rule: 'gas' } });
  });
});

describe('the rule against gas that nobody needs', () => {
  const needed: OperationGas = {
    preVerificationGas: 101n,
    callGasLimit: 100n,
    verificationGasLimit: 100n,
    paymasterVerificationGasLimit: 100n,
    paymasterPostOpGasLimit: 100n,
    maxFeePerGas: 100n,
    maxPriorityFeePerGas: 100n,
  };
  const most: OperationGas = {
    preVerificationGas: 111n,
    callGasLimit: 200n,
    verificationGasLimit: 200n,
    paymasterVerificationGasLimit: 200n,
    paymasterPostOpGasLimit: 200n,
    maxFeePerGas: 100n,
    maxPriorityFeePerGas: 100n,
  };

  it('allows a tenth more of the one, twice the limits, and the fees', () => {
    expect(ruleAgainstGas(most, needed)).toBeUndefined();
    const exactly = { ...most, preVerificationGas: 110n };
    expect(ruleAgainstGas(exactly, { ...needed, preVerificationGas: 100n })).toBeUndefined();
  });

  it.each(Object.keys(most) as (keyof OperationGas)[])('refuses one more of %s', (member) => {
    expect(ruleAgainstGas({ ...most, [member]: most[member] + 1n }, needed)).toBe('gas');
  });

  it('allows fees of three times the base fee and the tip that blocks are paid, and a send that tip', () => {
    expect(feesAtMost({ baseFeePerGas: 10n, tip: 7n })).toEqual({ maxFeePerGas: 37n, maxPriorityFeePerGas: 7n });
    expect(ruleAgainstTip(7n, 7n)).toBeUndefined();
    expect(ruleAgainstTip(8n, 7n)).toBe('gas');
    expect(ruleAgainstTip(0n, 0n)).toBeUndefined();
  });
});
