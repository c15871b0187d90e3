/** The event that the development token emits. */
export const TRANSFER = 'event Transfer(address indexed from, address indexed to, uint256 value);';
export const TRANSFER_ABI = JSON.stringify([
  {
    type: 'event',
    name: 'Transfer',
    anonymous: false,
    inputs: [
      { name: 'from', type: 'address', indexed: true },
      { name: 'to', type: 'address', indexed: true },
      { name: 'value', type: 'uint256', indexed: false },
    ],
  },
]);
