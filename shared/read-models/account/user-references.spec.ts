import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { someMetadata, storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { userReferencesModel } from './user-references.ts';

const time = Date.parse('2026-01-02T01:00:00.000Z');
const at = '2026-01-02T01:00:00.000Z';
const registered = (
  position: number,
  claim: { appId: string; userId: string | null | undefined },
  actor = someMetadata.actor,
) =>
  storedEvent(
    'ContractRegistered',
    { watchId: 'wch_1', ...claim },
    { position, time, metadata: { ...someMetadata, actor } },
  );
const { sender } = eventExamples.SponsorshipReserved;
const stream = 'sponsorship-app_1-2026-01-02';
const reserved = (position: number, userId: string) =>
  storedEvent(
    'SponsorshipReserved',
    { appId: 'app_1', chainId: 10, sender, nonce: '7', userId },
    { position, time, stream },
  );
const referencesOf = async (...events: Parameters<typeof project>[1]) =>
  (await project(userReferencesModel, events))['reference'];

describe('a reference', () => {
  it('is of each user and app that registered a watch, since the first registration', async () => {
    const claims = [
      registered(1, { appId: 'app_1', userId: 'usr_1' }),
      registered(2, { appId: 'app_1', userId: 'usr_2' }),
      registered(3, { appId: 'app_1', userId: 'usr_1' }),
    ];
    const claim = { kind: 'registration', documentId: 'wch_1', appId: 'app_1', time: at };
    expect(await referencesOf(...claims)).toEqual({
      'registration/wch_1/app_1/usr_1': { ...claim, userId: 'usr_1', firstPosition: 1 },
      'registration/wch_1/app_1/usr_2': { ...claim, userId: 'usr_2', firstPosition: 2 },
    });
  });

  it('is of the registering user where a claim was a whole app’s, and of nobody where the app registered', async () => {
    const byUser = registered(1, { appId: 'app_1', userId: undefined }, { type: 'user', id: 'usr_1' });
    const byApp = registered(2, { appId: 'app_2', userId: null });
    expect(Object.keys((await referencesOf(byUser, byApp)) ?? {})).toEqual(['registration/wch_1/app_1/usr_1']);
  });

  it('is of the user for whose operation an app reserved', async () => {
    const id = `${stream}/10/${sender.toLowerCase()}/7`;
    expect(await referencesOf(reserved(4, 'usr_1'), reserved(5, 'usr_1'))).toEqual({
      [`sponsorship/usr_1/${id}`]: {
        ...{ userId: 'usr_1', kind: 'sponsorship', documentId: id, appId: 'app_1', firstPosition: 4, time: at },
      },
    });
  });
});
