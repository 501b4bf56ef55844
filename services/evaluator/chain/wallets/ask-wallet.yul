// Asks a wallet's contract whether a signature is its own (ERC-1271), if need be behind a call that
// deploys or prepares the wallet (ERC-6492).
//
// It is never deployed: an eth_call without an address runs it as the code that would create a
// contract, so it works on every endpoint, and all that the two calls change ends with it.
//
// Behind the code  byte 0       where the block's number and parent hash come from: 0 the EVM, 1 Arbitrum's ArbSys
//                  bytes 1-20   wallet          bytes 21-52  hash that was signed
//                  byte 53      1: there is a call before the question
//                  bytes 54-73  its target      bytes 74-77  length of its calldata
//                  then its calldata, then the signature
// Answer           32 bytes block number, 32 bytes parent hash, 32 bytes status
//
// status           0 the wallet answered with the word that means "valid"    1 no code at the wallet
//                  2 it answered otherwise, or reverted                       3 the gas was used up
//
// A contract whose own calls ran out of gas may go on and answer, so an answer that does not prove
// counts as used-up gas if less than an eighth of the gas is left. 60 000 of it stay behind for the
// answer.
object "AskWallet" {
  code {
    let arguments := datasize("AskWallet")
    // Memory: 0x00 the answer, 0x60 an answer that is read, 0x80 arguments, 0x100 calldata.
    codecopy(0x80, arguments, 78)
    switch byte(0, mload(0x80))
    case 0 {
      mstore(0x00, number())
      mstore(0x20, blockhash(sub(number(), 1)))
    }
    default {
      mstore(0x100, shl(224, 0xa3b1b31d)) // arbBlockNumber()
      if staticcall(gas(), 0x64, 0x100, 4, 0x60, 32) { mstore(0x00, mload(0x60)) }
      mstore(0x100, shl(224, 0x2b407a82)) // arbBlockHash(uint256)
      mstore(0x104, sub(mload(0x00), 1))
      if staticcall(gas(), 0x64, 0x100, 36, 0x60, 32) { mstore(0x20, mload(0x60)) }
    }

    let wallet := shr(96, mload(0x81))
    let reserve := 60000
    let least := shr(3, gas())
    let data_size := shr(224, mload(0xca))
    if byte(0, mload(0xb5)) {
      codecopy(0x100, add(arguments, 78), data_size)
      pop(call(sub(gas(), reserve), shr(96, mload(0xb6)), 0, 0x100, data_size, 0, 0))
    }

    let status := 1
    if extcodesize(wallet) {
      // Behind the calldata above, where the memory is zero.
      let question := and(add(0x13f, data_size), not(0x1f))
      let signature_at := add(add(arguments, 78), data_size)
      let signature_size := sub(codesize(), signature_at)
      mstore(question, shl(224, 0x1626ba7e)) // isValidSignature(bytes32,bytes)
      mstore(add(question, 4), mload(0x95))
      mstore(add(question, 36), 0x40)
      mstore(add(question, 68), signature_size)
      codecopy(add(question, 100), signature_at, signature_size)
      let size := add(100, and(add(signature_size, 31), not(31)))
      status := 2
      if gt(gas(), least) {
        mstore(0x60, 0)
        if staticcall(sub(gas(), reserve), wallet, question, size, 0x60, 32) {
          if and(eq(returndatasize(), 32), eq(mload(0x60), shl(224, 0x1626ba7e))) { status := 0 }
        }
      }
    }
    if and(gt(status, 0), lt(gas(), least)) { status := 3 }
    mstore(0x40, status)
    return(0x00, 0x60)
  }
}
