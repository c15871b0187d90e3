import { describe, expect, it } from '@jest/globals';
import { appStream, type AppEvent, type SponsorshipPolicy } from '../../../../schemas/events/account/app-events.ts';
import { expectNothingTheSecondTime, given, givenAt } from '../../../../shared/testing/given.ts';
import {
  allowBot,
  allowOrigin,
  allowRedirect,
  apiKeyFrom,
  changePolicy,
  createServerKey,
  distrustApp,
  registerApp,
  revokeApp,
  revokeServerKeys,
  rotateAppKey,
  setRpId,
  trustApp,
} from './app.ts';
import { appFold, appIdOf, type App } from '../../../../shared/auth/app.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const [FIRST, SECOND, THIRD] = [
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
] as const;
const known = {
  name: 'Shop',
  apiKey: 'ak_1',
  scheme: 'v1' as const,
  origins: ['https://shop.example'],
  redirectUris: ['https://shop.example/back'],
  isThirdParty: false,
};
const app = { id: 'app_1', ...known, signer: FIRST };
const registered: AppEvent = { type: 'AppRegistered', data: { appId: 'app_1', ...known, signer: FIRST } };
const rotated = (signer: string): AppEvent => ({ type: 'AppKeyRotated', data: { appId: 'app_1', signer } });
const serverKey = (type: 'AppServerKeyCreated' | 'AppServerKeyRevoked', signer: string): AppEvent => ({
  type,
  data: { appId: 'app_1', signer },
});
const revoked: AppEvent = { type: 'AppRevoked', data: { appId: 'app_1' } };
const policy: SponsorshipPolicy = {
  ...{ dayWei: '100', userDayWei: '10', operationWei: null, anySession: false },
  allow: [{ target: FIRST, selectors: ['0xa9059cbb', '0x'] }],
};
const policyChanged = (chainId: number, to: SponsorshipPolicy | null): AppEvent => ({
  type: 'AppPolicyChanged',
  data: { appId: 'app_1', chainId, policy: to },
});
const after = givenAt(appFold, NOON);

const changes: Record<string, (state: App | undefined) => AppEvent[]> = {
  rotate: (state) => rotateAppKey(state, SECOND),
  'server-key create': (state) => createServerKey(state, SECOND),
  'allow-origin': (state) => allowOrigin(state, 'https://new.example'),
  'allow-redirect': (state) => allowRedirect(state, 'https://new.example/back'),
  distrust: distrustApp,
  'allow-bot': allowBot,
  'set-rp-id': (state) => setRpId(state, 'shop.example'),
  'policy set': (state) => changePolicy(state, 2484, policy),
};

describe('an app', () => {
  it('is registered with all its data', () => {
    given(appFold, []).decides((state) => registerApp(state, app), [registered]);
    expect(after(registered).state).toEqual({
      ...{ id: 'app_1', ...known, signers: [FIRST], serverSigners: [] },
      ...{ allowsBot: false, rpId: undefined, policies: {}, isRevoked: false },
    });
  });

  it('is registered once', () => {
    expectNothingTheSecondTime(appFold, appFold.initial, (state) => registerApp(state, app), NOON);
  });

  it('has an id and a stream name that follow from its API key and must never change', () => {
    expect(apiKeyFrom('0123')).toBe('ak_0123');
    expect(appIdOf('ak_0123')).toBe('app_m7zwhdwv6xym2xe56tq3ww1gxd');
    expect(appStream('app_1')).toBe('app-app_1');
  });

  it('has two signing keys during a rotation, and the next one drops the older', () => {
    after(registered).decides((state) => rotateAppKey(state, SECOND), [rotated(SECOND)]);
    expect(after(registered, rotated(SECOND)).state?.signers).toEqual([SECOND, FIRST]);
    expect(after(registered, rotated(SECOND), rotated(THIRD)).state?.signers).toEqual([THIRD, SECOND]);
  });

  it('has two server keys at most, beside its signing keys, and ends one of them or all', () => {
    const both = [serverKey('AppServerKeyCreated', FIRST), serverKey('AppServerKeyCreated', SECOND)];
    expect(after(registered, ...both).state).toMatchObject({ signers: [FIRST], serverSigners: [SECOND, FIRST] });
    after(registered, ...both).decides(
      (state) => createServerKey(state, THIRD),
      [serverKey('AppServerKeyRevoked', FIRST), serverKey('AppServerKeyCreated', THIRD)],
    );
    after(registered, ...both).decides(
      (state) => revokeServerKeys(state, FIRST),
      [serverKey('AppServerKeyRevoked', FIRST)],
    );
    const ending = [serverKey('AppServerKeyRevoked', SECOND), serverKey('AppServerKeyRevoked', FIRST)];
    after(registered, ...both).decides((state) => revokeServerKeys(state), ending);
    expect(after(registered, ...both, ...ending).state?.serverSigners).toEqual([]);
    after(registered, ...both, ...ending).decides((state) => revokeServerKeys(state), []);
  });

  it("is somebody else's from its registration on, until it is trusted, and again once it is not", () => {
    const [thirdParty] = registerApp(undefined, { ...app, isThirdParty: true });
    const [trusted, distrusted] = [
      { type: 'AppTrusted', data: { appId: 'app_1' } },
      { type: 'AppDistrusted', data: { appId: 'app_1' } },
    ] as const satisfies AppEvent[];
    if (!thirdParty) throw new Error('nothing was registered');
    expect(after(thirdParty).state?.isThirdParty).toBe(true);
    after(thirdParty).decides(distrustApp, []);
    after(thirdParty).decides(trustApp, [trusted]);
    expect(after(thirdParty, trusted).state?.isThirdParty).toBe(false);
    after(thirdParty, trusted).decides(trustApp, []);
    after(registered).decides(distrustApp, [distrusted]);
    expect(after(registered, distrusted).state?.isThirdParty).toBe(true);
  });

  it('allows further origins and redirect URIs, and its bot', () => {
    after(registered).decides(
      (state) => allowOrigin(state, 'https://new.example'),
      [{ type: 'AppOriginAllowed', data: { appId: 'app_1', origin: 'https://new.example' } }],
    );
    after(registered).decides(
      (state) => allowRedirect(state, 'https://new.example/back'),
      [{ type: 'AppRedirectAllowed', data: { appId: 'app_1', redirectUri: 'https://new.example/back' } }],
    );
    after(registered).decides(allowBot, [{ type: 'AppBotAllowed', data: { appId: 'app_1' } }]);
    const events = Object.values(changes).flatMap((change) => change(after(registered).state));
    expect(after(registered, ...events).state).toMatchObject({
      origins: ['https://shop.example', 'https://new.example'],
      redirectUris: ['https://shop.example/back', 'https://new.example/back'],
      allowsBot: true,
    });
  });

  it('has passkeys for the hostname of an origin, or one that this is a subdomain of', () => {
    const set = (rpId: string): AppEvent => ({ type: 'AppRpIdSet', data: { appId: 'app_1', rpId } });
    for (const rpId of ['shop.example', 'example']) {
      after(registered).decides((state) => setRpId(state, rpId), [set(rpId)]);
    }
    expect(after(registered, set('example'), set('shop.example')).state?.rpId).toBe('shop.example');
    for (const rpId of ['other.example', 'op.example', 'www.shop.example']) {
      after(registered).refuses((state) => setRpId(state, rpId), 'validation_failed');
    }
  });

  it('has a policy for each chain, replaces it, and removes it once', () => {
    const both = [policyChanged(2484, policy), policyChanged(1, { ...policy, anySession: true })];
    expect(after(registered, ...both).state?.policies).toEqual({ 2484: policy, 1: { ...policy, anySession: true } });
    after(registered, ...both).decides(
      (state) => changePolicy(state, 2484, { ...policy, allow: [] }),
      [policyChanged(2484, { ...policy, allow: [] })],
    );
    after(registered, ...both).decides((state) => changePolicy(state, 1, null), [policyChanged(1, null)]);
    expect(after(registered, ...both, policyChanged(1, null)).state?.policies).toEqual({ 2484: policy });
    after(registered, policyChanged(1, policy), policyChanged(1, null)).decides(
      (state) => changePolicy(state, 1, null),
      [],
    );
  });

  it.each(Object.entries(changes))(
    'changes once by %s, and not once it is revoked or if it is unknown',
    (_, change) => {
      expectNothingTheSecondTime(appFold, after(registered).state, change, NOON);
      after(registered, revoked).refuses(change, 'app_revoked', /register another/);
      after().refuses(change, 'validation_failed', /no app has this id/);
    },
  );

  it('is revoked once, and for good', () => {
    after(registered).decides(revokeApp, [revoked]);
    after(registered, revoked).decides(revokeApp, []);
    expect(after(registered, revoked).state?.isRevoked).toBe(true);
    after().refuses(revokeApp, 'validation_failed', /no app has this id/);
  });
});
