import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { LazyStoredEvent } from '../../../shared/event-store/stored-event.ts';
import { keyOf, publishedTypes, topicOf } from './address-event.ts';

const CONTRACT = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const stored = (type: string, stream: string, data: JsonObject = {}) =>
  new LazyStoredEvent(1, stream, 0, 'id', type, 1, 0, JSON.stringify(data), '{}');

describe('a published event', () => {
  it.each(['UserRegistered', 'SmartAccountAssigned', 'IdentityLinked', 'UserLoggedIn', 'ProfileUpdated'])(
    '%s goes to the topic of users, keyed by the user',
    (type) => {
      const event = stored(type, 'user-usr_AB1');
      expect([topicOf(event), keyOf(event)]).toEqual(['users', 'usr_ab1']);
    },
  );

  it.each(['ContractRegistered', 'WatchExtended', 'WatchShortened', 'WatchPaused', 'WatchResumed', 'WatchRemoved'])(
    '%s goes to the topic of contracts, keyed by the contract',
    (type) => {
      const event = stored(type, 'watch-wch_1', { chainId: 10, contractAddress: CONTRACT });
      expect([topicOf(event), keyOf(event)]).toEqual(['contracts', `eip155:10/${CONTRACT.toLowerCase()}`]);
    },
  );

  it.each(['ChainEventObserved', 'ChainEventReverted'])(
    '%s goes to the topic of chain events, keyed by the contract of its stream',
    (type) => {
      const event = stored(type, `chain-10-${CONTRACT.toLowerCase()}`);
      expect([topicOf(event), keyOf(event)]).toEqual(['chainEvents', `eip155:10/${CONTRACT.toLowerCase()}`]);
    },
  );

  it.each([
    'TxSubmitted',
    'TxDelayed',
    'TxIncluded',
    'TxReverted',
    'TxFinalized',
    'TxReorged',
    'TxReplaced',
    'TxDropped',
  ])('%s goes to the topic of transactions, keyed by the account that sends', (type) => {
    const event = stored(type, 'transaction-tx_1', { chainId: 10, sender: CONTRACT });
    expect([topicOf(event), keyOf(event)]).toEqual(['transactions', `eip155:10/${CONTRACT.toLowerCase()}`]);
  });

  it('has one of twenty-four types; events of other types are not published', () => {
    expect(publishedTypes).toHaveLength(24);
    expect(() => topicOf(stored('SessionStarted', 'session-ses_1'))).toThrow('SessionStarted is not published');
  });
});
