import { InjectedFaults } from '../../../shared/testing/injected-faults.ts';

/** What goes wrong around a bundler. */
const FAULTS = [
  'a process is killed',
  'the clock is set forward',
  'the clock is set back',
  'a read model is behind',
  'a reorganisation takes back a block with operations',
  'a transaction of a block that left the chain is lost',
  'a pool forgets a transaction',
  'a pool forgets all of them',
  'a block leaves out all that waits',
  'a block has a transaction that was replaced',
  'an executor runs dry',
  'somebody else uses a nonce of an executor',
  'a stranger has an operation included',
  'a stranger deploys an account',
  'an owner empties an account',
  'the deposit is too low for another operation',
  'a node does not answer',
  'a node takes a transaction and does not answer',
  'a node refuses a bundle',
  'a node does not try a bundle',
  'a node answers an earlier head',
  'a node answers earlier state',
  'a node does not have a block yet',
  'a node counts an operation that no block has',
  'a node does not find a receipt',
  'a node answers a receipt of a block that left the chain',
] as const;
type BundlerFault = (typeof FAULTS)[number];

export class BundlerFaults extends InjectedFaults<BundlerFault> {
  constructor() {
    super(FAULTS);
  }
}
