import { InjectedFaults } from '../../../shared/testing/injected-faults.ts';

/** What goes wrong around an event catcher. */
const FAULTS = [
  'a process is killed',
  'a process stops, and another one goes on',
  'another process stands by',
  'the outcome of an append is unknown',
  'an append is stored late',
  'an append comes too late',
  'the read store is away',
  'the clock is set forward',
  'the clock is set back',
  'a fork of one block',
  'a fork of up to 63 blocks',
  'a fork of 64 blocks',
  'a branch returns',
  'a development chain starts again',
  'many blocks come at once',
  'a watch is extended',
  'a watch is paused',
  'a watch is removed',
  'a watch is read again',
  'blocks of a watch are replayed',
  'an endpoint does not answer in time',
  'an endpoint fails',
  'an endpoint breaks off an answer',
  'an endpoint names a time to wait',
  'an endpoint refuses requests that come too fast',
  'an endpoint refuses a batch',
  'an endpoint refuses a range of blocks',
  'an endpoint refuses so many logs',
  'an endpoint has no receipts of blocks',
  'an endpoint leaves out the logs of blocks',
  'an endpoint shortens a list of logs',
  'an endpoint invents a log',
  'an endpoint is behind',
  'an endpoint has the blocks that left the chain',
  'an endpoint is on a branch of its own',
  'an endpoint denies a block that it has',
  'an endpoint answers another block',
  'an endpoint gives a block another hash',
  'an endpoint names another chain',
  'an endpoint asks another chain for its head',
  'an endpoint has no finalized block',
  'an endpoint has an old finalized block',
  'an endpoint stays at fault',
  'an endpoint cuts a list of logs',
  'an endpoint refuses the hash of a block',
  'an endpoint ignores the hash of a block',
  'an endpoint has no blooms',
  'an endpoint does not say the time of a log as usual',
  'an endpoint writes answers in a form of its own',
  'a bloom announces logs that are not there',
] as const;
export type CatcherFault = (typeof FAULTS)[number];

export class CatcherFaults extends InjectedFaults<CatcherFault> {
  constructor() {
    super(FAULTS);
  }
}
