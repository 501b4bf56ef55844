// The reader: many reads of one block in one eth_call.
//
// It is never deployed. Its code is put at an unused address by the state override of eth_call, so
// it works on every EVM chain whose endpoint allows overrides, and nobody can have tampered with
// it.
//
// Calldata   byte 0        where the block's number and parent hash come from: 0 the EVM, 1 Arbitrum's ArbSys
//            bytes 1-8     gas stipend of each call
//            then per read, 73 bytes: kind (1), contract (20), account (20), id (32); kind 5 has calldata after it
//            or 22 bytes: 6 (1), place of a read above (1), account (20): all else is as in that read.
//              Places count the reads of 73 bytes, from 0; the first 256 of them have one
// Answer     32 bytes block number n, 32 bytes parent hash, 32 bytes each: the hashes that the state keeps for the blocks
//            n - 1 and n - 8191 (EIP-2935; 0 if none), then per read 33 bytes: status (1), value (32)
//
// kind       0 native balance of account       1 balanceOf(account)      2 balanceOf(account, id)
//            3 ownerOf(id)                      4 decimals()
//            5 any calldata. The last 8 bytes of the id: the inputs that are the account (4, bit 0 is the first input;
//              the account is written into the calldata there), the index of the returned word that is read (1),
//              the number of words that there must be (1), the length of the calldata (2, at most 1024)
//            7 time of the block
// status     0 ok            1 no code at the address      2 reverted with data     3 not the words asked for
//            4 the stipend was used up, or ownerOf failed by an assertion
//            5 not tried: too little gas left                 6 failed without data
//            7 ownerOf reverted, and the contract says by ERC165 that it is an ERC721
//            8 answered, and the stipend was used up: a contract may go on after a call of its own ran out of gas
//
// Every call is static and gets the stipend alone, and 32 bytes of its answer at most are copied:
// an endless loop or a return bomb costs its own read and no other. A call is tried only while
// there is gas for all of it, so that a failure is never the batch's own doing.
object "Reader" {
  code {
    // Memory: 0x00 calldata of a call (1024 bytes), 0x400 its answer, 0x420 where in the calldata
    // the reads with a place are (256 words), 0x2420 the answer of the reader. Whether a call of
    // the contract ended with exactly 32 bytes. Two steps, because arguments are evaluated from the
    // right: the size would be that of the call before.
    function answers(call_size, target, stipend) -> yes {
      yes := staticcall(stipend, target, 0, call_size, 0x400, 32)
      yes := and(yes, eq(returndatasize(), 32))
    }

    let stipend := shr(192, calldataload(1))
    switch byte(0, calldataload(0))
    case 0 {
      mstore(0x2420, number())
      mstore(0x2440, blockhash(sub(number(), 1)))
      let history := 0x0000f90827f1c53a10cb7a02335b175320002935
      if eq(extcodehash(history), 0x6e49e66782037c0555897870e29fa5e552daf4719552131a0abce779daec0a5d) {
        mstore(0, sub(number(), 1))
        if answers(32, history, 10000) { mstore(0x2460, mload(0x400)) }
        mstore(0, sub(number(), 8191))
        if answers(32, history, 10000) { mstore(0x2480, mload(0x400)) }
      }
    }
    default {
      mstore(0, shl(224, 0xa3b1b31d)) // arbBlockNumber()
      if answers(4, 0x64, gas()) { mstore(0x2420, mload(0x400)) }
      mstore(0, shl(224, 0x2b407a82)) // arbBlockHash(uint256)
      mstore(4, sub(mload(0x2420), 1))
      if answers(36, 0x64, gas()) { mstore(0x2440, mload(0x400)) }
    }

    let out := 0x24a0
    let next_place := 0x420
    let next
    for { let entry := 9 } lt(entry, calldatasize()) { entry := next } {
      let kind := byte(0, calldataload(entry))
      let account
      let source := entry
      switch kind
      case 6 {
        source := mload(add(0x420, shl(5, byte(1, calldataload(entry)))))
        account := shr(96, calldataload(add(entry, 2)))
        next := add(entry, 22)
        kind := byte(0, calldataload(source))
      }
      default {
        account := shr(96, calldataload(add(entry, 21)))
        next := add(entry, 73)
        if eq(kind, 5) { next := add(next, and(calldataload(add(entry, 41)), 0xffff)) }
        if lt(next_place, 0x2420) {
          mstore(next_place, entry)
          next_place := add(next_place, 32)
        }
      }
      let target := shr(96, calldataload(add(source, 1)))
      let id := calldataload(add(source, 41))
      let status := 0
      let value := 0
      // The word of the answer that is read, and how many there must be; for kind 5 there may be
      // more.
      let word_at := 0
      let size_min := 32
      // Gas that a call may use beside its stipend (a 64th stays behind), and gas for the entries
      // that follow.
      let reserve := add(add(shr(5, stipend), 60000), mul(27, sub(calldatasize(), entry)))

      switch kind
      case 0 { value := balance(account) }
      case 7 { value := timestamp() }
      default {
        switch lt(gas(), add(stipend, reserve))
        case 1 { status := 5 }
        default {
          let call_size := 4
          switch kind
          case 1 {
            mstore(0, shl(224, 0x70a08231))
            mstore(4, account)
            call_size := 36
          }
          case 2 {
            mstore(0, shl(224, 0x00fdd58e))
            mstore(4, account)
            mstore(36, id)
            call_size := 68
          }
          case 3 {
            mstore(0, shl(224, 0x6352211e))
            mstore(4, id)
            call_size := 36
          }
          case 4 { mstore(0, shl(224, 0x313ce567)) }
          default {
            call_size := and(id, 0xffff)
            calldatacopy(0, add(source, 73), call_size)
            let input_at := 4
            for { let inputs := and(shr(32, id), 0xffffffff) } inputs { inputs := shr(1, inputs) } {
              if and(inputs, 1) { mstore(input_at, account) }
              input_at := add(input_at, 32)
            }
            word_at := shl(5, and(shr(24, id), 0xff))
            size_min := shl(5, and(shr(16, id), 0xff))
          }
          // The reader's own code is there for this call only.
          switch mul(extcodesize(target), iszero(eq(target, address())))
          case 0 { status := 1 }
          default {
            let before := gas()
            let ok := staticcall(stipend, target, 0, call_size, 0, 0)
            let used := sub(before, gas())
            switch ok
            case 1 {
              switch or(eq(returndatasize(), size_min), and(eq(kind, 5), gt(returndatasize(), size_min)))
              case 1 {
                returndatacopy(0x400, word_at, 32)
                value := mload(0x400)
              }
              default { status := 3 }
            }
            default {
              status := 2
              switch returndatasize()
              case 0 { status := 6 }
              case 36 {
                returndatacopy(0, 0, 36)
                let is_assertion := and(eq(shr(224, mload(0)), 0x4e487b71), eq(mload(4), 1)) // Panic(1)
                if and(eq(kind, 3), is_assertion) { status := 4 }
              }
            }
            // A proxy keeps a 64th per level of what its callee burned.
            if gt(used, sub(stipend, shr(3, stipend))) {
              switch status
              case 0 { status := 8 }
              default { if iszero(eq(status, 3)) { status := 4 } }
            }
          }
        }

        if and(eq(kind, 3), or(eq(status, 2), eq(status, 6))) {
          // More than the 30 000 that ERC165 allows, and enough for a proxy before it.
          let proof_stipend := 100000
          switch lt(gas(), add(mul(2, proof_stipend), reserve))
          case 1 { status := 5 }
          default {
            mstore(0, shl(224, 0x01ffc9a7)) // supportsInterface(bytes4)
            mstore(4, shl(224, 0x80ac58cd))
            if answers(36, target, proof_stipend) { if eq(mload(0x400), 1) { status := 7 } }
            if iszero(eq(status, 7)) {
              mstore(4, shl(224, 0x9a20483d)) // of the draft, which the first collections answer to
              if answers(36, target, proof_stipend) { if eq(mload(0x400), 1) { status := 7 } }
            }
          }
        }
      }

      mstore8(out, status)
      mstore(add(out, 1), value)
      out := add(out, 33)
    }
    return(0x2420, sub(out, 0x2420))
  }
}
