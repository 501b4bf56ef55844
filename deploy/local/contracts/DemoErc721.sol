// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// A real ERC721 for the local chain. Anybody may mint: it is worth nothing anywhere.
contract DemoErc721 is ERC721 {
    constructor(address holder) ERC721("Demo Badge", "DBDG") {
        _mint(holder, 1);
        _mint(holder, 2);
        _mint(holder, 3);
    }

    function mint(address to, uint256 id) external {
        _mint(to, id);
    }
}
